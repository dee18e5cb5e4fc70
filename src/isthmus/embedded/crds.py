"""CustomResourceDefinitions, and the kinds they define."""

from isthmus.embedded.kinds import Kind
from isthmus.embedded.status import Cause
from isthmus.model.wire import JsonObject


def from_crd(crd: JsonObject) -> tuple[Kind, ...]:
    """One kind per served version; the storage version's comes first."""
    spec = crd["spec"]
    names = spec["names"]
    return tuple(
        Kind(
            group=spec["group"],
            version=version["name"],
            name=names["kind"],
            plural=names["plural"],
            singular=names.get("singular") or names["kind"].lower(),
            namespaced=spec["scope"] == "Namespaced",
            short_names=tuple(names.get("shortNames") or ()),
            categories=tuple(names.get("categories") or ()),
            has_status="status" in (version.get("subresources") or {}),
            has_scale="scale" in (version.get("subresources") or {}),
            has_generation=True,
            strategic=False,
        )
        for version in sorted(spec["versions"], key=lambda version: not version["storage"])
        if version["served"]
    )


def fill(obj: JsonObject) -> None:
    names = obj["spec"]["names"]
    names.setdefault("singular", names["kind"].lower())
    names.setdefault("listKind", f"{names['kind']}List")
    obj["spec"].setdefault("conversion", {"strategy": "None"})


def judge(new: JsonObject, old: JsonObject | None) -> list[Cause]:
    return []
