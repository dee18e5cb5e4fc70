"""Compares what an account may do with what it was seen to do."""

from collections.abc import Iterable, Iterator
from itertools import product
from typing import NamedTuple

from isthmus.model.wire import JsonObject

ANY = "*"
DECISION = "authorization.k8s.io/decision"


class Right(NamedTuple):
    """One verb on one kind: everywhere, or in one namespace, and of any name, or of one."""

    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""

    def allows(self, use: "Use") -> bool:
        return (
            self.verb == use.verb
            and self.group in (ANY, use.group)
            and self.resource in (ANY, use.resource)
            and self.namespace in ("", use.namespace)
            and self.name in ("", use.name)
        )

    def is_needed_for(self, use: "Use", home: str) -> bool:
        """Tell whether a smaller right would not do: what is done at ``home`` takes none that
        counts everywhere."""
        return self.allows(use) and (self.namespace != "" or use.namespace != home)


class Use(NamedTuple):
    """Something that was done, or tried."""

    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""
    is_allowed: bool = True


def granted(objects: Iterable[JsonObject]) -> set[Right]:
    """Return every right that the roles among ``objects`` give."""
    return {
        Right(verb, group, resource, role["metadata"].get("namespace", ""), name)
        for role in objects
        if role["kind"] in ("Role", "ClusterRole")
        for rule in role["rules"]
        for verb, group, resource, name in product(
            rule["verbs"], rule["apiGroups"], rule["resources"], rule.get("resourceNames") or [""]
        )
    }


def used(events: Iterable[JsonObject], account: str) -> Iterator[Use]:
    """Yield what ``account`` has asked for, as the API server's audit log has it."""
    for one in events:
        if one["user"]["username"] != account or "objectRef" not in one:
            continue
        what = one["objectRef"]
        resource = "/".join(filter(None, (what["resource"], what.get("subresource"))))
        yield Use(
            verb=one["verb"],
            group=what.get("apiGroup", ""),
            resource=resource,
            namespace=what.get("namespace", ""),
            name=what.get("name", ""),
            is_allowed=(one.get("annotations") or {}).get(DECISION) == "allow",
        )


def unused(rights: Iterable[Right], uses: Iterable[Use], home: str) -> list[Right]:
    """Return what may be done and never was."""
    done = list(uses)
    return sorted(
        right for right in rights if not any(right.is_needed_for(use, home) for use in done)
    )
