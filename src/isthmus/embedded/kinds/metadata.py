"""``metadata`` obeys the same rules in every kind; this is where they are."""

from isthmus.embedded.kinds import formats
from isthmus.embedded.kinds.causes import each, forbidden, invalid, required, too_long, unequal
from isthmus.embedded.kinds.kind import Kind
from isthmus.embedded.status import Cause
from isthmus.model.wire import JsonObject

ANNOTATIONS_LIMIT = 256 * 1024  # bytes, keys and values together

_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")
_FIXED = (
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)


def judge(kind: Kind, new: JsonObject, old: JsonObject | None) -> list[Cause]:
    """What is wrong with the metadata of ``new``."""
    meta = new["metadata"]
    found = _named(kind, meta) if old is None else _kept(meta, old["metadata"])
    found += labelled("metadata.labels", meta.get("labels") or {})
    found += _annotated(meta.get("annotations") or {})
    found += _owned(meta.get("ownerReferences") or [])
    finalizers = meta.get("finalizers") or []
    if old is not None:
        found += found  # the real server looks twice at an update, and says so twice
    else:
        for name in finalizers:
            found += each("metadata.finalizers", name, formats.qualified(name))
    if kind.shape:
        found += _standard(finalizers)
    return found


def _standard(finalizers: list[str]) -> list[Cause]:
    """Names without a domain are Kubernetes' own; custom resources are not held to that."""
    text = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        invalid(f"metadata.finalizers[{index}]", name, text)
        for index, name in enumerate(finalizers)
        if "/" not in name and name not in _FINALIZERS
    ]


def _named(kind: Kind, meta: JsonObject) -> list[Cause]:
    found: list[Cause] = []
    prefix, name, namespace = (meta.get(key) for key in ("generateName", "name", "namespace"))
    if prefix:
        found += each("metadata.generateName", prefix, kind.name_rule(prefix, True))
    if name:
        found += each("metadata.name", name, kind.name_rule(name, False))
    else:
        found.append(required("metadata.name", "name or generateName is required"))
    if kind.namespaced:
        if namespace:
            found += each("metadata.namespace", namespace, formats.label(namespace))
        else:
            found.append(required("metadata.namespace"))
    elif namespace:
        found.append(forbidden("metadata.namespace", "not allowed on this type"))
    return found


def _kept(meta: JsonObject, before: JsonObject) -> list[Cause]:
    found: list[Cause] = []
    if before.get("deletionTimestamp"):
        extra = sorted(set(meta.get("finalizers") or []) - set(before.get("finalizers") or []))
        if extra:
            listed = ", ".join(f'"{name}"' for name in extra)
            found.append(
                forbidden(
                    "metadata.finalizers",
                    "no new finalizers can be added if the object is being deleted, "
                    f"found new finalizers []string{{{listed}}}",
                )
            )
    for name in _FIXED:
        found += unequal(f"metadata.{name}", meta.get(name), before.get(name))
    return found


def labelled(field: str, labels: JsonObject) -> list[Cause]:
    """What is wrong with labels, or with a selector that is written like labels."""
    found: list[Cause] = []
    for key, value in labels.items():
        found += each(field, key, formats.qualified(key))
        found += each(field, value, formats.label_value(value))
    return found


def _annotated(annotations: JsonObject) -> list[Cause]:
    found: list[Cause] = []
    size = 0
    for key, value in annotations.items():
        found += each("metadata.annotations", key, formats.qualified(key.lower()))
        size += len(key.encode()) + len(value.encode())
    if size > ANNOTATIONS_LIMIT:
        found.append(too_long("metadata.annotations", ANNOTATIONS_LIMIT))
    return found


def _owned(references: list[JsonObject]) -> list[Cause]:
    found: list[Cause] = []
    path = "metadata.ownerReferences"
    controllers = [ref for ref in references if ref.get("controller")]
    for ref in references:
        if not ref.get("apiVersion"):
            found.append(invalid(f"{path}.apiVersion", "", "version must not be empty"))
        found += [
            invalid(f"{path}.{key}", "", "must not be empty")
            for key in ("kind", "name", "uid")
            if not ref.get(key)
        ]
    if len(controllers) > 1:
        first, second = (f"{ref.get('kind')}/{ref.get('name')}" for ref in controllers[:2])
        text = 'Only one reference can have Controller set to true. Found "true" in references'
        found.append(invalid(path, references, f"{text} for {first} and {second}"))
    return found
