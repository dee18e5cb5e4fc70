"""``isthmus controller``: what can be typed."""

import click

from isthmus.cli.running.saying import logs
from isthmus.cli.where import Where
from isthmus.model.identities import MESH_DOMAIN
from isthmus.model.wire import Json

PORT = click.IntRange(0, 65535)


@click.command()
@click.option("--cluster-name", required=True, help="What other clusters call this one: east.")
@click.option("--namespace", default="isthmus", show_default=True, help="Where Secrets are.")
@click.option("--mesh-domain", default=MESH_DOMAIN, show_default=True, help="As all clusters have.")
@click.option("--cluster-domain", default="cluster.local", show_default=True, help="Of Services.")
@click.option("--name", default="", help="Of the pod; else the machine's name.")
@click.option("--address", help="Where its ports are opened; else at all addresses.")
@click.option(
    "--admin-port", type=PORT, default=9990, show_default=True, help="/metrics /livez /readyz."
)
@click.option(
    "--sign-port", type=PORT, default=8443, show_default=True, help="Certificates and catalogue."
)
@click.option(
    "--ads-port", type=PORT, default=8444, show_default=True, help="What proxies are told."
)
@click.option("--workers", default=16, show_default=True, help="Mirrors written at once.")
@click.option(
    "--allow-loopback", is_flag=True, help="Targets may be on this machine: for trying things out."
)
@click.option(
    "--local-cidr",
    "local_cidrs",
    multiple=True,
    metavar="CIDR",
    help="A range of this cluster's own pods or nodes, where no gateway can be. Many allowed.",
)
@logs
@click.pass_obj
def controller(where: Where, /, name: str, **options: Json) -> None:
    """Mirror the services that linked clusters export.

    Reads every Link of the cluster, watches what its target exports, and keeps a Service with
    EndpointSlices here for each of them. Any number of replicas may run; one of them writes.

    In a pod it uses the pod's service account. Anywhere else, name a kubeconfig:

    \b
      isthmus controller --kubeconfig east.yaml --cluster-name east
    """
    import asyncio

    from isthmus.apps.controller.config import Config
    from isthmus.cli.running.controlling import control
    from isthmus.kube.election import identity

    for port in ("sign_port", "ads_port"):
        options[port] = options[port] or None
    options["identity"] = identity(name)
    asyncio.run(control(Config(**options), where.kubeconfig, where.context))
