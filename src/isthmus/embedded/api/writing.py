"""Create, update and patch: which object the client means, out of what it has sent."""

from dataclasses import dataclass

from isthmus.embedded.api import scaling, storing
from isthmus.embedded.api.calls import APPLY, Call, decoded, object_of, typed
from isthmus.embedded.kinds import strictness
from isthmus.embedded.kinds.refusals import bad_request, conflict, not_found
from isthmus.embedded.patches import apply, patch
from isthmus.embedded.state.plane import Plane
from isthmus.embedded.state.store import Record
from isthmus.model.wire import JsonObject

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
            if plane.store.get(storing.key_of(call, sent)) is None:
                break
    return Written(object=storing.created(plane, call, sent), created=True, warnings=warnings)


def update(plane: Plane, call: Call) -> Written:
    """``PUT`` of an object or subresource."""
    if call.route.subresource == "scale":
        scale = object_of(call, scaling.SCALE)
        return _rescaled(plane, call, _present(plane, call), scale)
    sent = object_of(call)
    warnings = _strange(call, sent)
    _check_name(call, sent)
    _check_home(call, sent)
    record = plane.store.get(call.route.key)
    uid = sent["metadata"].get("uid") or ""
    if uid and uid != (found := record.object["metadata"]["uid"] if record else ""):
        raise storing.other_uid(call.kind, call.route.key, uid, found)
    if record is not None:
        return Written(object=storing.updated(plane, call, record.object, sent), warnings=warnings)
    if call.route.subresource or call.route.resource not in _CREATED_ON_UPDATE:
        raise not_found(call.kind, call.route.name)
    if sent["metadata"].pop("resourceVersion", ""):
        raise not_found(call.kind, call.route.name)
    return Written(object=storing.created(plane, call, sent), created=True, warnings=warnings)


def change(plane: Plane, call: Call) -> Written:
    """``PATCH`` of an object or subresource."""
    if call.content_type == APPLY:
        return _apply(plane, call)
    record = _present(plane, call)
    if call.route.subresource == "scale":
        seen = scaling.scale_of(record.object)
        scale = patch.patched(scaling.SCALE, call.content_type, seen, call.body)
        return _rescaled(plane, call, record, typed(scaling.SCALE, scale, call.registry))
    current = call.kind.seen(record.object)
    wanted = typed(
        call.kind,
        patch.patched(call.kind, call.content_type, current, call.body),
        call.registry,
    )
    warnings = _strange(call, wanted)
    _check_name(call, wanted)
    _check_home(call, wanted)
    return Written(object=storing.updated(plane, call, record.object, wanted), warnings=warnings)


def _present(plane: Plane, call: Call) -> Record:
    record = plane.store.get(call.route.key)
    if record is None:
        raise not_found(call.kind, call.route.name)
    return record


def _rescaled(plane: Plane, call: Call, record: Record, scale: JsonObject) -> Written:
    wanted = scaling.scaled(call.kind.seen(record.object), scale)
    return Written(object=scaling.scale_of(storing.updated(plane, call, record.object, wanted)))


def _apply(plane: Plane, call: Call) -> Written:
    sent = decoded(call.body, APPLY, call.kind.name)
    warnings = _strange(call, sent)
    who = call.manager("Apply")
    record = plane.store.get(call.route.key)
    if record is not None:
        whole = apply.applied(call.kind, call.kind.seen(record.object), sent, who)
        whole = typed(call.kind, whole, call.registry)
        _check_name(call, whole)
        _check_home(call, whole)
        done = storing.updated(plane, call, record.object, whole, tracked=True)
        return Written(object=done, warnings=warnings)
    if call.route.subresource:
        raise not_found(call.kind, call.route.name)
    whole = typed(call.kind, apply.applied(call.kind, None, sent, who), call.registry)
    if uid := whole["metadata"].get("uid"):
        why = (
            f"uid mismatch: the provided object specified uid {uid}, "
            "and no existing object was found"
        )
        raise conflict(call.kind, call.route.name, why)
    _check_name(call, whole)
    _check_home(call, whole)
    done = storing.created(plane, call, whole, tracked=True)
    return Written(object=done, created=True, warnings=warnings)


def _strange(call: Call, sent: JsonObject) -> tuple[str, ...]:
    """Warnings about fields that the schema does not know, or the refusal, as was asked for."""
    mode = call.query.get("fieldValidation") or "Warn"
    found = strictness.complaints(call.kind, sent, call.body) if mode != "Ignore" else []
    if found and mode == "Strict":
        raise bad_request(
            f'{call.kind.name} in version "{call.kind.version}" cannot be handled as a '
            f"{call.kind.name}: strict decoding error: {', '.join(found)}"
        )
    return tuple(found)


def _check_name(call: Call, sent: JsonObject) -> None:
    name = sent["metadata"].get("name")
    if not name:
        raise bad_request(
            f"the name of the object ({call.route.name} based on URL) was undeterminable: "
            "name must be provided"
        )
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
