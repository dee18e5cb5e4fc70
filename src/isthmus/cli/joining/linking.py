"""Makes the Link that leads to a cluster, from what that cluster says about itself."""

from isthmus.cli.installation import gateway_service, installed, name
from isthmus.cli.joining import documents
from isthmus.cli.joining.gateway import Said, reached
from isthmus.kube.client import Client
from isthmus.model.names import GATEWAY
from isthmus.model.wire import JsonObject


async def link(
    target: Client, cluster: str, namespace: str, gateway: Said, settings: JsonObject
) -> JsonObject:
    """Return the Link for a source to import what ``target`` exports.

    ``cluster`` is what somebody says the target is called; it may be empty.
    """
    shown = await installed(target, namespace)
    called = name(cluster, shown, "--cluster-name")
    service = None if gateway.is_complete else await gateway_service(target, namespace)
    where = reached(gateway, service, f"{namespace}/{GATEWAY}")
    return documents.link(called, where, settings)
