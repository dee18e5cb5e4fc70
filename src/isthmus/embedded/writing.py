"""Create, update and patch: from what was sent to what is stored."""

from collections.abc import Iterable
from dataclasses import dataclass

from isthmus.embedded import admission, apply, patch, scaling
from isthmus.embedded.calls import APPLY, Call, decoded, object_of, typed
from isthmus.embedded.deleting import finished
from isthmus.embedded.kinds import Kind
from isthmus.embedded.plane import Plane
from isthmus.embedded.refusals import (
    already_exists,
    bad_request,
    conflict,
    forbidden,
    invalid,
    not_found,
)
from isthmus.embedded.routing import resource
from isthmus.embedded.status import Cause, Refusal
from isthmus.embedded.store import Key, Record
from isthmus.model.wire import JsonObject

_ENDING = ("deletionTimestamp", "deletionGracePeriodSeconds")
_SERVER_OWNED = ("uid", "creationTimestamp", "generation", "selfLink", *_ENDING)
_CREATED_ON_UPDATE = {
    "/services",
    "/endpoints",
    "/events",
    "coordination.k8s.io/leases",
    "rbac.authorization.k8s.io/roles",
    "rbac.authorization.k8s.io/rolebindings",
    "rbac.authorization.k8s.io/clusterroles",
    "rbac.authorization.k8s.io/clusterrolebindings",
}
_NAME_ATTEMPTS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The object as it is now, and what the client should be told about it."""

    object: JsonObject
    created: bool = False
    warnings: tuple[str, ...] = ()


def create(plane: Plane, call: Call) -> Written:
    """``POST`` to a collection."""
    sent = object_of(call)
    warnings = _strange(call, sent)
    _check_home(call, sent)
    metadata = sent["metadata"]
    if not metadata.get("name") and metadata.get("generateName"):
        for _ in range(_NAME_ATTEMPTS):
            metadata["name"] = plane.generated(metadata["generateName"])
            if plane.store.get(_key(call, sent)) is None:
                break
    return Written(object=_created(plane, call, sent), created=True, warnings=warnings)


def update(plane: Plane, call: Call) -> Written:
    """``PUT`` of an object or subresource."""
    if call.route.subresource == "scale":
        scale = object_of(call, scaling.SCALE)
        return _rescaled(plane, call, _present(plane, call), scale)
    sent = object_of(call)
    warnings = _strange(call, sent)
    name = sent["metadata"].get("name") or ""
    if not name:
        raise bad_request(
            f"the name of the object ({call.route.name} based on URL) was undeterminable: "
            "name must be provided"
        )
    _check_name(call, sent)
    _check_home(call, sent)
    record = plane.store.get(call.route.key)
    if record is not None:
        return Written(object=_updated(plane, call, record.object, sent), warnings=warnings)
    if call.route.subresource or call.route.resource not in _CREATED_ON_UPDATE:
        raise not_found(call.kind, call.route.name)
    if uid := sent["metadata"].get("uid"):
        raise _other_uid(call.kind, call.route.key, uid, "")
    if sent["metadata"].pop("resourceVersion", ""):
        raise not_found(call.kind, call.route.name)
    return Written(object=_created(plane, call, sent), created=True, warnings=warnings)


def change(plane: Plane, call: Call) -> Written:
    """``PATCH`` of an object or subresource."""
    if call.content_type == APPLY:
        return _apply(plane, call)
    record = _present(plane, call)
    if call.route.subresource == "scale":
        seen = scaling.scale_of(record.object)
        scale = patch.patched(scaling.SCALE, call.content_type, seen, call.body)
        return _rescaled(plane, call, record, scale)
    current = _as(call.kind, record.object)
    wanted = typed(call.kind, patch.patched(call.kind, call.content_type, current, call.body))
    warnings = _strange(call, wanted)
    _check_name(call, wanted)
    _check_home(call, wanted)
    return Written(object=_updated(plane, call, record.object, wanted), warnings=warnings)


def _present(plane: Plane, call: Call) -> Record:
    record = plane.store.get(call.route.key)
    if record is None:
        raise not_found(call.kind, call.route.name)
    return record


def _rescaled(plane: Plane, call: Call, record: Record, scale: JsonObject) -> Written:
    wanted = scaling.scaled(_as(call.kind, record.object), scale)
    return Written(object=scaling.scale_of(_updated(plane, call, record.object, wanted)))


def _apply(plane: Plane, call: Call) -> Written:
    sent = decoded(call.body, APPLY, call.kind.name)
    if not call.query.get("fieldManager"):
        why = "Required value: is required for apply patch"
        cause = Cause("FieldValueRequired", why, "fieldManager")
        raise invalid("meta.k8s.io", "PatchOptions", "", (cause,))
    warnings = _strange(call, sent)
    who = call.manager("Apply")
    record = plane.store.get(call.route.key)
    if record is not None:
        whole = apply.applied(call.kind, _as(call.kind, record.object), sent, who)
        whole = typed(call.kind, whole)
        _check_name(call, whole)
        _check_home(call, whole)
        done = _updated(plane, call, record.object, whole, tracked=True)
        return Written(object=done, warnings=warnings)
    if call.route.subresource:
        raise not_found(call.kind, call.route.name)
    whole = typed(call.kind, apply.applied(call.kind, None, sent, who))
    if uid := whole["metadata"].get("uid"):
        why = (
            f"uid mismatch: the provided object specified uid {uid}, "
            "and no existing object was found"
        )
        raise conflict(call.kind, call.route.name, why)
    whole["metadata"].setdefault("name", call.route.name)
    _check_name(call, whole)
    _check_home(call, whole)
    done = _created(plane, call, whole, tracked=True)
    return Written(object=done, created=True, warnings=warnings)


def _as(kind: Kind, obj: JsonObject) -> JsonObject:
    """A stored object in the version that was asked for."""
    return {**obj, "kind": kind.name, "apiVersion": kind.api_version}


def _key(call: Call, obj: JsonObject) -> Key:
    return Key(resource(call.kind), call.route.namespace, obj["metadata"].get("name") or "")


def _strange(call: Call, sent: JsonObject) -> tuple[str, ...]:
    """Warnings about fields that the schema does not know, or the refusal, as was asked for."""
    mode = call.query.get("fieldValidation") or "Warn"
    unknown = call.kind.unknown(sent) if mode != "Ignore" else []
    if unknown and mode == "Strict":
        said = ", ".join(f'unknown field "{path}"' for path in unknown)
        raise bad_request(
            f'{call.kind.name} in version "{call.kind.version}" cannot be handled as a '
            f"{call.kind.name}: strict decoding error: {said}"
        )
    return tuple(f'unknown field "{path}"' for path in unknown)


def _check_name(call: Call, sent: JsonObject) -> None:
    name = sent["metadata"].get("name")
    if name != call.route.name:
        raise bad_request(
            f"the name of the object ({name}) does not match the name on the URL "
            f"({call.route.name})"
        )


def _check_home(call: Call, sent: JsonObject) -> None:
    """The namespace in the body is that of the path, or absent."""
    metadata = sent["metadata"]
    said = metadata.get("namespace") or call.route.namespace
    if said != call.route.namespace:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    if said:
        metadata["namespace"] = said


def _created(plane: Plane, call: Call, sent: JsonObject, *, tracked: bool = False) -> JsonObject:
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
    key = _key(call, done)
    admission.judged(kind, done, None)
    if versioned:
        raise Refusal(500, "", "resourceVersion should not be set on objects to be created")
    if key.resource == "/services":
        done = plane.addresses.assigned(key, done, None)
    if plane.store.get(key) is not None:
        raise already_exists(kind, key.name)
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


def _updated(
    plane: Plane, call: Call, current: JsonObject, sent: JsonObject, *, tracked: bool = False
) -> JsonObject:
    kind, key = call.kind, call.route.key
    old = _as(kind, current)
    _check_preconditions(kind, key, old, sent)
    new = _separated(kind, call.route.subresource, old, sent)
    new["metadata"] = _kept(new["metadata"], old["metadata"])
    new = admission.filled(kind, new)
    if not tracked:
        new = apply.tracked(kind, old, new, call.manager())
    new = admission.prepared(kind, new, old)
    if key.resource == "/services":
        new = plane.addresses.assigned(key, new, old)
    admission.judged(kind, new, old)
    if kind.has_generation and _meant_differently(kind, old, new):
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
    if new == old:
        return current
    if call.dry_run:
        return new
    if finished(new):
        plane.store.remove(key)
        return new
    return plane.store.put(key, new).object


def _check_preconditions(kind: Kind, key: Key, old: JsonObject, sent: JsonObject) -> None:
    wanted, present = sent["metadata"], old["metadata"]
    if wanted.get("uid") and wanted["uid"] != present["uid"]:
        raise _other_uid(kind, key, wanted["uid"], present["uid"])
    version = wanted.get("resourceVersion") or present["resourceVersion"]
    if not version.isdecimal():
        raise Refusal(500, "", f'strconv.ParseUint: parsing "{version}": invalid syntax')
    if version != present["resourceVersion"]:
        raise conflict(kind, key.name)


def _other_uid(kind: Kind, key: Key, wanted: str, found: str) -> Refusal:
    place = "/".join(filter(None, ("/registry", kind.plural, key.namespace, key.name)))
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
        return {**sent["metadata"], "ownerReferences": old["metadata"].get("ownerReferences")}
    return {**old["metadata"], "managedFields": owned}


def _kept(metadata: JsonObject, old: JsonObject) -> JsonObject:
    """Keep what the server owns. Only a new time of deletion is not ignored, but refused later."""
    kept = {k: v for k, v in metadata.items() if k not in _SERVER_OWNED}
    kept |= {name: old[name] for name in _SERVER_OWNED if name in old}
    kept |= {name: metadata[name] for name in _ENDING if metadata.get(name)}
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
