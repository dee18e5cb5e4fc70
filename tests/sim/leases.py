"""Leases, answered straight from the store: they are most of what a settled world asks for.

The same rules as the API's for what an election does: a version that is not the current one is a
conflict, a name that is taken cannot be made, and what is not there is not found. tests/kube tries
elections on the whole API, and on a real one.
"""

import msgspec

from isthmus.embedded.api.answers import Answer, refused
from isthmus.embedded.api.calls import JSON
from isthmus.embedded.state.store import Key, Record
from isthmus.embedded.status import Refusal
from isthmus.kube.transport import Request
from tests.sim.places import LEASES, Site

_PREFIX = "/apis/coordination.k8s.io/v1/namespaces/"


def serve(site: Site, request: Request) -> Answer | None:
    """Answer a request that is about one lease; None if it is about anything else."""
    if not request.path.startswith(_PREFIX) or dict(request.query).get("watch"):
        return None
    namespace, _, rest = request.path.removeprefix(_PREFIX).partition("/leases")
    name, store = rest.removeprefix("/"), site.cluster.store
    match request.method:
        case "GET" if name:
            found = store.get(Key(LEASES, namespace, name))
            return _missing(name) if found is None else _answer(200, found)
        case "POST":
            given = msgspec.json.decode(request.body)
            key = Key(LEASES, namespace, given["metadata"]["name"])
            if store.get(key) is not None:
                return refused(Refusal(409, "AlreadyExists", f"{key.name} already exists"))
            given["metadata"] |= {"uid": site.cluster.plane.uid(), "namespace": namespace}
            return _answer(201, store.put(key, given, 0))
        case "PUT":
            given = msgspec.json.decode(request.body)
            found = store.get(Key(LEASES, namespace, name))
            if found is None:
                return _missing(name)
            if given["metadata"].get("resourceVersion") != str(found.revision):
                return refused(Refusal(409, "Conflict", f"{name} has been modified"))
            given["metadata"] = {**found.object["metadata"], **given["metadata"]}
            return _answer(200, store.put(found.key, given, found.revision))
        case _:
            return None


def _missing(name: str) -> Answer:
    return refused(Refusal(404, "NotFound", f'leases.coordination.k8s.io "{name}" not found'))


def _answer(status: int, found: Record) -> Answer:
    kinds = {"kind": "Lease", "apiVersion": "coordination.k8s.io/v1"}
    body = msgspec.json.encode({**found.object, **kinds})
    return Answer(status=status, headers={"content-type": JSON}, body=body)
