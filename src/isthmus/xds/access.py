"""Who may call what, as Envoy enforces it: nobody, except where a route says otherwise.

The caller is *all* the URI names of its certificate in one string, so that a certificate with two
of them is nobody whom a Grant can name. Envoy's own matcher of certificates would look at DNS names
and subjects as well. Nor can a Grant name what a certificate says that is not such as controllers
make, see :mod:`isthmus.xds.leaves`. All this is found out once for a connection, not for a request.

Refusals say what is wrong: who asks for something that is not exported passes here, since there is
no route, and is told 404 by the router; who is not granted what there is, is told 403.
"""

from envoy.extensions.filters.http.rbac.v3 import rbac_pb2
from envoy.extensions.filters.network.set_filter_state.v3 import set_filter_state_pb2
from google.protobuf import any_pb2

from isthmus.model.routes import Callers
from isthmus.xds import inside, leaves
from isthmus.xds.resources import extension, typed

CALLER = "isthmus.caller"
FILTER = "isthmus.grants"

EVERYBODY = Callers(prefixes=("spiffe://",))


# In CEL: !has(xds.route_name). Every route that we make has a name, and callers of its own.
_NO_ROUTE = {
    "call_expr": {
        "function": "!_",
        "args": [
            {
                "select_expr": {
                    "operand": {"ident_expr": {"name": "xds"}},
                    "field": "route_name",
                    "test_only": True,
                }
            }
        ],
    }
}


def learning(**options: object) -> dict[str, object]:
    """Remember who calls on a connection, once that is proven."""
    names = f"%CEL({leaves.proper()} ? '' : 'improper ')%%DOWNSTREAM_PEER_URI_SAN%"
    found = set_filter_state_pb2.Config(
        on_new_connection=[inside.value(CALLER, "envoy.hashable_string", names, **options)]
    )
    # Envoy has a second field of the same type, for what is known after the handshake only. The
    # classes that were generated from its definitions do not have it yet: it differs by its tag.
    packed = typed(found)
    after = b"\x12" + packed.value.removeprefix(b"\x0a")
    name = "envoy.filters.network.set_filter_state"
    return {"name": name, "typed_config": any_pb2.Any(type_url=packed.type_url, value=after)}


def refusing() -> dict[str, object]:
    """Refuse everybody whom the route of a request does not let in."""
    unrouted = {
        "permissions": [{"any": True}],
        "principals": [{"any": True}],
        "condition": _NO_ROUTE,
    }
    rules = {"action": "ALLOW", "policies": {"unrouted": unrouted}}
    return extension(FILTER, rbac_pb2.RBAC(rules=rules))


def allowing(callers: Callers) -> dict[str, any_pb2.Any]:
    """Let these callers use the route that this is put on."""
    principals = [_named({"exact": one}) for one in sorted(callers.exact)]
    principals += [
        {"and_ids": {"ids": [_named({"prefix": one}), {"not_id": _named({"contains": ","})}]}}
        for one in sorted(callers.prefixes)
    ]
    granted = {"permissions": [{"any": True}], "principals": principals}
    rules = {"action": "ALLOW", "policies": {"granted": granted} if principals else {}}
    return {FILTER: typed(rbac_pb2.RBACPerRoute(rbac={"rules": rules}))}


def _named(pattern: dict[str, str]) -> dict[str, object]:
    return {"filter_state": {"key": CALLER, "string_match": pattern}}
