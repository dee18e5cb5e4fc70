"""Links and Grants as documents."""

import msgspec

from isthmus.kube.resources import GRANTS, LINKS, Resource
from isthmus.model.grants import GrantSpec
from isthmus.model.links import Gateway
from isthmus.model.wire import Json, JsonObject


def link(cluster: str, gateway: Gateway, settings: JsonObject) -> JsonObject:
    """The Link to ``cluster``, whose gateway is there, with more of its spec as it was set."""
    where = {"addresses": list(gateway.addresses), "port": gateway.port}
    spec = {"gateway": where | settings.get("gateway", {})}
    return document(LINKS, cluster, spec | {k: v for k, v in settings.items() if k not in spec})


def grant(name: str, spec: GrantSpec) -> JsonObject:
    said = msgspec.json.decode(msgspec.json.encode(spec))
    return document(GRANTS, name, {line: value for line, value in said.items() if value})


def document(resource: Resource[Json], name: str, spec: JsonObject | None = None) -> JsonObject:
    """An object of a kind; without a ``spec`` it says only which, for whoever deletes it."""
    head = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name},
    }
    return head if spec is None else {**head, "spec": spec}
