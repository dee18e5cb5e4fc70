"""The last steps of a write: an object is completed, judged and stored."""

from collections.abc import Iterable

from isthmus.embedded.api import accounts
from isthmus.embedded.api.calls import Call
from isthmus.embedded.api.deleting import finished
from isthmus.embedded.kinds import admission
from isthmus.embedded.kinds.kind import Kind
from isthmus.embedded.kinds.refusals import already_exists, conflict, forbidden
from isthmus.embedded.patches import apply
from isthmus.embedded.state.plane import Plane
from isthmus.embedded.state.store import Key
from isthmus.embedded.status import Cause, Refusal
from isthmus.model.wire import JsonObject

_ENDING = ("deletionTimestamp", "deletionGracePeriodSeconds")
_SERVER_OWNED = ("uid", "creationTimestamp", "generation", "selfLink", *_ENDING)
# Where etcd keeps what is not kept under its own name; one refusal shows it.
_REGISTRY = {
    "/services": "services/specs",
    "/endpoints": "services/endpoints",
    "/nodes": "minions",
}


def key_of(call: Call, obj: JsonObject) -> Key:
    return Key(call.kind.resource, call.route.namespace, obj["metadata"].get("name") or "")


def created(plane: Plane, call: Call, sent: JsonObject, *, tracked: bool = False) -> JsonObject:
    kind, metadata = call.kind, sent["metadata"]
    _check_namespace(plane, kind, call.route.namespace, str(metadata.get("name") or ""))
    versioned = bool(metadata.get("resourceVersion"))
    _forget(metadata, (*_SERVER_OWNED, "resourceVersion"))
    if kind.has_status:
        sent.pop("status", None)
    done = admission.filled(kind, sent)
    if not tracked:
        done = apply.tracked(kind, None, done, call.manager())
    done["metadata"] |= {"uid": plane.uid(), "creationTimestamp": plane.timestamp()}
    if kind.has_generation:
        done["metadata"]["generation"] = 1
    done = admission.prepared(kind, done, None)
    key = key_of(call, done)
    if key.resource == "/pods":
        done = accounts.housed(plane, kind, done)
    admission.judged(kind, done, None)
    if versioned:
        raise Refusal(500, "", "resourceVersion should not be set on objects to be created")
    if key.resource == "/services":
        done = plane.addresses.assigned(key, done, None, dry_run=call.dry_run)
    if plane.store.get(key) is not None:
        raise already_exists(kind, key.name)
    done = kind.stored(done)
    return done if call.dry_run else plane.store.put(key, done, 0).object


def _forget(metadata: JsonObject, names: Iterable[str]) -> None:
    for name in names:
        metadata.pop(name, None)


def _check_namespace(plane: Plane, kind: Kind, namespace: str, name: str) -> None:
    if not kind.namespaced:
        return
    home = plane.find("", "namespaces", "", namespace)
    if home is None:
        message = f'namespaces "{namespace}" not found'
        raise Refusal(404, "NotFound", message, kind="namespaces", name=namespace)
    if home["metadata"].get("deletionTimestamp"):
        why = (
            f"unable to create new content in namespace {namespace} because it is being terminated"
        )
        message = f"namespace {namespace} is being terminated"
        cause = Cause("NamespaceTerminating", message, "metadata.namespace")
        raise forbidden(kind, name, why, (cause,))


def updated(
    plane: Plane, call: Call, current: JsonObject, sent: JsonObject, *, tracked: bool = False
) -> JsonObject:
    kind, key = call.kind, call.route.key
    old = kind.seen(current)
    _check_preconditions(kind, key, old, sent)
    new = _separated(kind, call.route.subresource, old, sent)
    new["metadata"] = _kept(new["metadata"], old["metadata"])
    new = admission.filled(kind, new)
    if not tracked:
        new = apply.tracked(kind, old, new, call.manager())
    new = admission.prepared(kind, new, old)
    if key.resource == "/services":
        new = plane.addresses.assigned(key, new, old, dry_run=call.dry_run)
    admission.judged(kind, new, old)
    if kind.has_generation and _meant_differently(kind, old, new):
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
    if apply.settled(old, new) is old:
        return current
    new = kind.stored(new)
    if call.dry_run:
        return new
    if finished(new):
        plane.store.remove(key)
        return new
    return plane.store.put(key, new).object


def _check_preconditions(kind: Kind, key: Key, old: JsonObject, sent: JsonObject) -> None:
    wanted, present = sent["metadata"], old["metadata"]
    version = wanted.get("resourceVersion") or present["resourceVersion"]
    if not version.isdecimal():
        raise Refusal(500, "", f'strconv.ParseUint: parsing "{version}": invalid syntax')
    if version != present["resourceVersion"]:
        raise conflict(kind, key.name)


def other_uid(kind: Kind, key: Key, wanted: str, found: str) -> Refusal:
    plural = _REGISTRY.get(key.resource, kind.plural)
    place = "/".join(filter(None, ("/registry", plural, key.namespace, key.name)))
    why = (
        f"StorageError: invalid object, Code: 4, Key: {place}, ResourceVersion: 0, "
        f"AdditionalErrorMsg: Precondition failed: UID in precondition: {wanted}, "
        f"UID in object meta: {found}"
    )
    return conflict(kind, key.name, why)


def _separated(kind: Kind, subresource: str, old: JsonObject, sent: JsonObject) -> JsonObject:
    """Status writes change nothing but the status, other writes everything but the status."""
    if subresource == "status":
        kept = {k: v for k, v in old.items() if k != "status"}
        status = {"status": sent["status"]} if "status" in sent else {}
        return {**kept, "metadata": _status_metadata(kind, old, sent), **status}
    if subresource == "finalize":
        finalizers = (sent.get("spec") or {}).get("finalizers") or []
        return {**old, "spec": {"finalizers": finalizers} if finalizers else {}}
    new = {k: v for k, v in sent.items() if k != "status" or not kind.has_status}
    if kind.has_status and "status" in old:
        new["status"] = old["status"]
    if (kind.group, kind.name) == ("", "Namespace"):
        new["spec"] = old.get("spec") or {}
    return new


def _status_metadata(kind: Kind, old: JsonObject, sent: JsonObject) -> JsonObject:
    """Built-in kinds let a status write change metadata; custom ones do not."""
    owned = sent["metadata"].get("managedFields")
    if kind.strategic:
        kept = {**sent["metadata"], "ownerReferences": old["metadata"].get("ownerReferences")}
        if (kind.group, kind.name) == ("apps", "Deployment"):
            kept["labels"] = old["metadata"].get("labels")
        return kept
    return {**old["metadata"], "managedFields": owned}


def _kept(metadata: JsonObject, old: JsonObject) -> JsonObject:
    """Keep what the server owns. Some of it is not ignored, if sent, but refused later."""
    kept = {k: v for k, v in metadata.items() if k not in _SERVER_OWNED}
    kept |= {name: old[name] for name in _SERVER_OWNED if name in old}
    kept |= {name: metadata[name] for name in ("uid", *_ENDING) if metadata.get(name)}
    kept["resourceVersion"] = old["resourceVersion"]
    return kept


def _meant_differently(kind: Kind, old: JsonObject, new: JsonObject) -> bool:
    """Whether something changed that controllers have to act on."""
    ignored = ("metadata", "status") if kind.has_status else ("metadata",)
    before, after = ({k: v for k, v in obj.items() if k not in ignored} for obj in (old, new))
    if (kind.group, kind.name) == ("apps", "Deployment"):
        # A rollback is recorded in annotations, so these count for Deployments.
        before["annotations"] = old["metadata"].get("annotations")
        after["annotations"] = new["metadata"].get("annotations")
    return before != after
