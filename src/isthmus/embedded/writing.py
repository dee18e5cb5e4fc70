"""Create, update and patch: from what was sent to what is stored."""

from isthmus.embedded import admission, apply, patch
from isthmus.embedded.calls import APPLY, Call, decoded, object_of, typed
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
from isthmus.embedded.store import Key
from isthmus.model.wire import JsonObject

# What a client sends for these is ignored: the server keeps its own.
_SERVER_OWNED = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "selfLink",
)
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


def create(plane: Plane, call: Call) -> JsonObject:
    """``POST`` to a collection."""
    sent = object_of(call)
    _check_home(call, sent)
    metadata = sent["metadata"]
    if not metadata.get("name") and metadata.get("generateName"):
        for _ in range(_NAME_ATTEMPTS):
            metadata["name"] = plane.generated(metadata["generateName"])
            if plane.store.get(_key(call, sent)) is None:
                break
    return _created(plane, call, sent)


def update(plane: Plane, call: Call) -> tuple[JsonObject, bool]:
    """``PUT`` of an object or subresource; says whether it was created."""
    sent = object_of(call)
    _check_home(call, sent)
    name = sent["metadata"].setdefault("name", call.route.name)
    if name != call.route.name:
        raise bad_request(
            f"the name of the object ({name}) does not match the name on the URL "
            f"({call.route.name})"
        )
    record = plane.store.get(call.route.key)
    if record is not None:
        return _updated(plane, call, record.object, sent), False
    if call.route.subresource or call.route.resource not in _CREATED_ON_UPDATE:
        raise not_found(call.kind, call.route.name)
    if sent["metadata"].get("uid"):
        uid = sent["metadata"]["uid"]
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: "
        raise conflict(call.kind, call.route.name, why)
    if sent["metadata"].pop("resourceVersion", ""):
        raise not_found(call.kind, call.route.name)
    return _created(plane, call, sent), True


def change(plane: Plane, call: Call) -> tuple[JsonObject, bool]:
    """``PATCH`` of an object or subresource; says whether it was created."""
    record = plane.store.get(call.route.key)
    if call.content_type == APPLY:
        return _apply(plane, call, record.object if record else None)
    if record is None:
        raise not_found(call.kind, call.route.name)
    wanted = typed(
        call.kind,
        patch.patched(call.kind, call.content_type, _as(call.kind, record.object), call.body),
    )
    if wanted["metadata"].get("name") != call.route.name:
        wanted["metadata"]["name"] = call.route.name
    return _updated(plane, call, record.object, wanted), False


def _apply(plane: Plane, call: Call, current: JsonObject | None) -> tuple[JsonObject, bool]:
    sent = decoded(call.body, APPLY)
    if not isinstance(sent, dict):
        raise bad_request("error decoding YAML: the request body is not an object")
    if not call.query.get("fieldManager"):
        cause = Cause(
            "FieldValueRequired", "Required value: is required for apply patch", "fieldManager"
        )
        raise invalid("meta.k8s.io", "PatchOptions", "", (cause,))
    who = call.manager("Apply")
    if current is None:
        if call.route.subresource:
            raise not_found(call.kind, call.route.name)
        whole = apply.applied(call.kind, None, sent, who)
        whole = typed(call.kind, whole)
        whole["metadata"].setdefault("name", call.route.name)
        _check_home(call, whole)
        return _created(plane, call, whole, tracked=True), True
    whole = apply.applied(call.kind, _as(call.kind, current), sent, who)
    return _updated(plane, call, current, typed(call.kind, whole), tracked=True), False


def _as(kind: Kind, obj: JsonObject) -> JsonObject:
    """A stored object in the version that was asked for."""
    return {**obj, "kind": kind.name, "apiVersion": kind.api_version}


def _key(call: Call, obj: JsonObject) -> Key:
    return Key(resource(call.kind), call.route.namespace, obj["metadata"].get("name") or "")


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
    if metadata.get("resourceVersion"):
        why = "resourceVersion should not be set on objects to be created"
        raise Refusal(500, "InternalError", f"Internal error occurred: {why}")
    for name in (*_SERVER_OWNED, "resourceVersion"):
        metadata.pop(name, None)
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
    if key.resource == "/services":
        done = plane.addresses.assigned(key, done, None)
    if plane.store.get(key) is not None:
        raise already_exists(kind, key.name)
    return done if call.dry_run else plane.store.put(key, done, 0).object


def _check_namespace(plane: Plane, kind: Kind, namespace: str, name: str) -> None:
    if not kind.namespaced:
        return
    home = plane.find("", "namespaces", "", namespace)
    if home is None:
        raise Refusal(
            404,
            "NotFound",
            f'namespaces "{namespace}" not found',
            kind="namespaces",
            name=namespace,
        )
    if home["metadata"].get("deletionTimestamp"):
        why = (
            f"unable to create new content in namespace {namespace} because it is being terminated"
        )
        cause = Cause(
            "NamespaceTerminating",
            f"namespace {namespace} is being terminated",
            "metadata.namespace",
        )
        raise forbidden(kind, name, why, (cause,))


def _updated(
    plane: Plane, call: Call, current: JsonObject, sent: JsonObject, *, tracked: bool = False
) -> JsonObject:
    kind, key = call.kind, call.route.key
    old = _as(kind, current)
    _check_preconditions(kind, key.name, old, sent)
    new = _separated(kind, call.route.subresource, old, sent)
    new["metadata"] = _kept(new["metadata"], old["metadata"])
    new = admission.filled(kind, new)
    if not tracked:
        new = apply.tracked(kind, old, new, call.manager())
    new = admission.prepared(kind, new, old)
    if key.resource == "/services":
        new = plane.addresses.assigned(key, new, old)
    admission.judged(kind, new, old)
    if kind.has_generation and _spec_changed(kind, old, new):
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
    if new == old:
        return current
    if call.dry_run:
        return new
    if finished(new):
        return plane.store.remove(key).object
    return plane.store.put(key, new).object


def _check_preconditions(kind: Kind, name: str, old: JsonObject, sent: JsonObject) -> None:
    wanted, present = sent["metadata"], old["metadata"]
    if wanted.get("uid") and wanted["uid"] != present["uid"]:
        why = (
            f"Precondition failed: UID in precondition: {wanted['uid']}, "
            f"UID in object meta: {present['uid']}"
        )
        raise conflict(kind, name, why)
    if wanted.get("resourceVersion") not in (None, "", present["resourceVersion"]):
        raise conflict(kind, name)


def _separated(kind: Kind, subresource: str, old: JsonObject, sent: JsonObject) -> JsonObject:
    """Status writes change nothing but the status, other writes everything but the status."""
    if subresource == "status":
        kept = {k: v for k, v in old.items() if k != "status"}
        status = {"status": sent["status"]} if "status" in sent else {}
        metadata = {**old["metadata"], "managedFields": sent["metadata"].get("managedFields")}
        return {**kept, "metadata": metadata, **status}
    new = {k: v for k, v in sent.items() if k != "status" or not kind.has_status}
    if kind.has_status and "status" in old:
        new["status"] = old["status"]
    return new


def _kept(metadata: JsonObject, old: JsonObject) -> JsonObject:
    kept = {k: v for k, v in metadata.items() if k not in _SERVER_OWNED}
    kept |= {name: old[name] for name in _SERVER_OWNED if name in old}
    kept["resourceVersion"] = old["resourceVersion"]
    return kept


def _spec_changed(kind: Kind, old: JsonObject, new: JsonObject) -> bool:
    ignored = ("metadata", "status") if kind.has_status else ("metadata",)
    before, after = ({k: v for k, v in obj.items() if k not in ignored} for obj in (old, new))
    return before != after


def finished(obj: JsonObject) -> bool:
    """Whether an object waits for nothing but the end."""
    metadata = obj["metadata"]
    return bool(
        metadata.get("deletionTimestamp")
        and not metadata.get("finalizers")
        and not metadata.get("deletionGracePeriodSeconds")
        and not (obj["kind"] == "Namespace" and (obj.get("spec") or {}).get("finalizers"))
    )
