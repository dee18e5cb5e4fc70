"""Delete: preconditions, grace, finalizers, and what becomes of the dependants."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from isthmus.embedded.api.calls import Call, accepts, decoded
from isthmus.embedded.kinds import causes
from isthmus.embedded.kinds.kind import Kind
from isthmus.embedded.kinds.refusals import bad_request, forbidden, invalid, not_found
from isthmus.embedded.state.plane import Plane
from isthmus.embedded.state.registry import CRDS
from isthmus.embedded.state.store import Key, Record
from isthmus.embedded.status import Cause, Refusal
from isthmus.model.times import second_time
from isthmus.model.wire import JsonObject

ORPHAN = "orphan"
_POLICIES = ("Foreground", "Background", "Orphan")
FOREGROUND = "foregroundDeletion"
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"  # holds a CRD until its objects are gone
_UNDELETABLE = ("default", "kube-system", "kube-public")
_ENDED_APART = ("/namespaces", CRDS)  # the real server marks these in code of their own
# These answer a deletion with the object; the others, once it is gone, with a Status.
RETURNED = {"/services", "/pods", "/namespaces", "/serviceaccounts"}


class _Preconditions(msgspec.Struct, frozen=True, rename="camel"):
    uid: str | None = None
    resource_version: str | None = None


class Options(msgspec.Struct, frozen=True, rename="camel"):
    """DeleteOptions, as sent in the body or as query parameters."""

    grace_period_seconds: int | None = None
    propagation_policy: str | None = None
    orphan_dependents: bool | None = None
    preconditions: _Preconditions | None = None
    dry_run: list[str] | None = None


@dataclass(frozen=True, slots=True)
class Deletion:
    """How far a deletion got."""

    object: JsonObject
    gone: bool


def options(call: Call) -> Options:
    """The options of a delete call; the body wins over the query, as in the real server."""
    if call.body:
        accepts(call.content_type)
        try:
            return msgspec.convert(decoded(call.body, call.content_type, "DeleteOptions"), Options)
        except msgspec.ValidationError as error:
            raise bad_request(f"DeleteOptions: {error}") from None
    grace = call.query.get("gracePeriodSeconds")
    return Options(
        grace_period_seconds=call.number("gracePeriodSeconds") if grace else None,
        propagation_policy=call.query.get("propagationPolicy"),
        orphan_dependents=call.flag("orphanDependents") or None,
        dry_run=["All"] if call.dry_run else None,
    )


def delete(plane: Plane, kind: Kind, key: Key, wanted: Options) -> Deletion:
    """Delete one object, or mark it as being deleted if something still holds it."""
    record = plane.store.get(key)
    if record is None:
        raise not_found(kind, key.name)
    if key.resource == "/namespaces" and key.name in _UNDELETABLE:
        raise forbidden(kind, key.name, "this namespace may not be deleted")
    _check(kind, record, wanted)
    marked = _marked(plane, record, wanted)
    if finished(marked):
        last = record.object if wanted.dry_run else plane.store.remove(key).object
        # Of a pod, which could have been given time, the answer shows that it was not.
        return Deletion(marked if key.resource == "/pods" else last, gone=True)
    if marked == record.object or wanted.dry_run:
        return Deletion(marked, gone=False)
    return Deletion(plane.store.put(key, marked).object, gone=False)


def _check(kind: Kind, record: Record, wanted: Options) -> None:
    _check_options(wanted)
    asked, metadata = wanted.preconditions or _Preconditions(), record.object["metadata"]
    found = metadata["uid"]
    if asked.uid is not None and asked.uid != found:
        why = (
            f"the UID in the precondition ({asked.uid}) does not match the UID in record "
            f"({found}). The object might have been deleted and then recreated"
        )
        raise _conflict(kind, record.key.name, why)
    found = metadata["resourceVersion"]
    if asked.resource_version is not None and asked.resource_version != found:
        why = (
            f"the ResourceVersion in the precondition ({asked.resource_version}) does not match "
            f"the ResourceVersion in record ({found}). The object might have been modified"
        )
        raise _conflict(kind, record.key.name, why)


def _conflict(kind: Kind, name: str, why: str) -> Refusal:
    """Unlike all other conflicts, this one names the kind where the resource should be."""
    subject = f"{kind.name}.{kind.group}" if kind.group else kind.name
    message = f'Operation cannot be fulfilled on {subject} "{name}": {why}'
    return Refusal(409, "Conflict", message, group=kind.group, kind=kind.name, name=name)


def _check_options(wanted: Options) -> None:
    policy = wanted.propagation_policy
    wrong: list[Cause] = []
    if policy is not None and wanted.orphan_dependents is not None:
        why = "orphanDependents and deletionPropagation cannot be both set"
        wrong.append(causes.invalid("propagationPolicy", policy, why))
    if policy is not None and policy not in _POLICIES:
        wrong.append(causes.unsupported("propagationPolicy", policy, (*_POLICIES, "nil")))
    if wanted.dry_run and wanted.dry_run != ["All"]:
        wrong.append(causes.unsupported("dryRun", wanted.dry_run, ("All",)))
    if wrong:
        raise invalid("meta.k8s.io", "DeleteOptions", "", tuple(wrong))


def _marked(plane: Plane, record: Record, wanted: Options) -> JsonObject:
    """The object with its deletion timestamp, grace period and finalizers."""
    obj, metadata = record.object, {**record.object["metadata"]}
    finalizers = _finalizers(metadata.get("finalizers") or [], wanted)
    if (
        record.key.resource == CRDS
        and CLEANUP not in finalizers
        and "deletionTimestamp" not in metadata
    ):
        finalizers = [*finalizers, CLEANUP]
    metadata.pop("finalizers", None)
    if finalizers:
        metadata["finalizers"] = finalizers
    grace = _grace(obj, wanted)
    if "deletionTimestamp" not in metadata:
        metadata["deletionTimestamp"] = second_time(plane.wall() + timedelta(seconds=grace))
        if record.key.resource not in _ENDED_APART:
            metadata["deletionGracePeriodSeconds"] = grace
            if metadata.get("generation"):
                metadata["generation"] += 1
    elif grace < (held := metadata.get("deletionGracePeriodSeconds", 0)):
        shortened = datetime.fromisoformat(metadata["deletionTimestamp"]) - timedelta(
            seconds=held - grace
        )
        metadata["deletionTimestamp"] = second_time(shortened)
        metadata["deletionGracePeriodSeconds"] = grace
    marked = {**obj, "metadata": metadata}
    if record.key.resource == "/namespaces":
        marked["status"] = {**(obj.get("status") or {}), "phase": "Terminating"}
    if record.key.resource == CRDS:
        marked["status"] = _terminating(obj.get("status") or {}, plane.timestamp())
    return marked


def _terminating(status: JsonObject, now: str) -> JsonObject:
    present = status.get("conditions") or []
    if any(condition["type"] == "Terminating" for condition in present):
        return status
    condition = {
        "type": "Terminating",
        "status": "True",
        "lastTransitionTime": now,
        "reason": "InstanceDeletionPending",
        "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will "
        "begin soon",
    }
    return {**status, "conditions": [*present, condition]}


def _finalizers(present: list[str], wanted: Options) -> list[str]:
    """Which finalizers stand for the dependants' fate, besides those of others."""
    policy = wanted.propagation_policy
    if policy is None and wanted.orphan_dependents is not None:
        policy = "Orphan" if wanted.orphan_dependents else "Background"
    if policy is None:
        return present
    kept = [name for name in present if name not in (ORPHAN, FOREGROUND)]
    match policy:
        case "Orphan":
            return [*kept, ORPHAN]
        case "Foreground":
            return [*kept, FOREGROUND]
        case _:
            return kept


def finished(obj: JsonObject) -> bool:
    """Whether an object waits for nothing but the end."""
    metadata = obj["metadata"]
    return bool(
        metadata.get("deletionTimestamp")
        and not metadata.get("finalizers")
        and not metadata.get("deletionGracePeriodSeconds")
        and not (obj["kind"] == "Namespace" and (obj.get("spec") or {}).get("finalizers"))
    )


def propagation(obj: JsonObject) -> str:
    """The finalizer that says what becomes of the dependants, if there is one."""
    finalizers = obj["metadata"].get("finalizers") or []
    return next((name for name in (ORPHAN, FOREGROUND) if name in finalizers), "")


def _grace(obj: JsonObject, wanted: Options) -> int:
    """Only pods that a node may be running are given time."""
    spec = obj.get("spec") or {}
    phase = (obj.get("status") or {}).get("phase")
    if obj["kind"] != "Pod" or not spec.get("nodeName") or phase in ("Succeeded", "Failed"):
        return 0
    if wanted.grace_period_seconds is not None:
        return 1 if wanted.grace_period_seconds < 0 else wanted.grace_period_seconds
    return int(spec.get("terminationGracePeriodSeconds", 30))
