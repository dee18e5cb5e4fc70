"""Small kinds: Namespaces, ConfigMaps, Secrets and Leases."""

import base64
from collections.abc import Iterator

from isthmus.embedded.kinds import formats
from isthmus.embedded.kinds.causes import each, forbidden, invalid, required, too_long, unequal
from isthmus.embedded.status import Cause
from isthmus.model.wire import JsonObject

DATA_LIMIT = 1024 * 1024  # bytes
NAME_LABEL = "kubernetes.io/metadata.name"
_FROZEN = "field is immutable when `immutable` is set"
_NEEDED = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
_ACCOUNT = "kubernetes.io/service-account.name"


def fill_namespace(obj: JsonObject) -> None:
    name = obj["metadata"].get("name")
    if name:
        obj["metadata"].setdefault("labels", {})[NAME_LABEL] = name


def prepare_namespace(new: JsonObject, old: JsonObject | None) -> None:
    if old is None:
        new["spec"] = {"finalizers": ["kubernetes"]}
        new["status"] = {"phase": "Active"}
    else:
        # Only the finalize subresource changes them; whoever serves it does so afterwards.
        new["spec"] = new["spec"] or {**old["spec"]}


def judge_namespace(new: JsonObject, old: JsonObject | None) -> list[Cause]:
    labels = new["metadata"].get("labels") or {}
    name = new["metadata"].get("name")
    if old is not None and labels.get(NAME_LABEL) != name:
        path = f"metadata.labels[{NAME_LABEL}]"
        return [invalid(path, labels.get(NAME_LABEL, ""), f"must be {name}")]
    return []


def judge_config(new: JsonObject, old: JsonObject | None) -> list[Cause]:
    found = list(_frozen(new, old, ("data", "binaryData")))
    data, binary = new.get("data") or {}, new.get("binaryData") or {}
    for key in data:
        found += each(f"data[{key}]", key, formats.data_key(key))
        if key in binary:
            found.append(invalid(f"data[{key}]", key, "duplicate of key present in binaryData"))
    for key in binary:
        found += each(f"binaryData[{key}]", key, formats.data_key(key))
    size = sum(len(value.encode()) for value in data.values()) + _size(binary)
    if size > DATA_LIMIT:
        found.append(too_long("[]", DATA_LIMIT))
    return found


def fill_secret(obj: JsonObject) -> None:
    obj.setdefault("type", "Opaque")
    for key, value in (obj.pop("stringData", None) or {}).items():
        data = obj.setdefault("data", {})
        data[key] = base64.b64encode(value.encode()).decode()


def judge_secret(new: JsonObject, old: JsonObject | None) -> list[Cause]:
    found: list[Cause] = []
    if old is not None:
        found += unequal("type", new["type"], old["type"])
    found += _frozen(new, old, ("data",))
    data = new.get("data") or {}
    for key in data:
        found += each(f"data[{key}]", key, formats.data_key(key))
    if _size(data) > DATA_LIMIT:
        found.append(too_long("data", DATA_LIMIT))
    found += [required(f"data[{key}]") for key in _NEEDED.get(new["type"], ()) if key not in data]
    if new["type"] == "kubernetes.io/basic-auth" and not data.keys() & {"username", "password"}:
        found += [required("data[username]"), required("data[password]")]
    annotations = new["metadata"].get("annotations") or {}
    if new["type"] == "kubernetes.io/service-account-token" and not annotations.get(_ACCOUNT):
        found.append(required(f"metadata.annotations[{_ACCOUNT}]"))
    return found


def _frozen(new: JsonObject, old: JsonObject | None, names: tuple[str, ...]) -> Iterator[Cause]:
    if old is None or not old.get("immutable"):
        return
    if not new.get("immutable"):
        yield forbidden("immutable", _FROZEN)
    for name in names:
        if new.get(name) != old.get(name):
            yield forbidden(name, _FROZEN)


def _size(data: JsonObject) -> int:
    return sum(len(base64.b64decode(value)) for value in data.values())


def judge_lease(new: JsonObject, _old: JsonObject | None) -> list[Cause]:
    spec = new["spec"]
    found: list[Cause] = []
    if spec.get("leaseDurationSeconds", 1) <= 0:
        seconds = spec["leaseDurationSeconds"]
        found.append(invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
    if spec.get("leaseTransitions", 0) < 0:
        count = spec["leaseTransitions"]
        text = "must be greater than or equal to 0"
        found.append(invalid("spec.leaseTransitions", count, text))
    if spec.get("preferredHolder") and not spec.get("strategy"):
        text = "may only be specified if `strategy` is defined"
        found.append(forbidden("spec.preferredHolder", text))
    return found
