"""What a kubelet would mount into our own pods, and how they then find their controller."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import msgspec

from isthmus.apps.proxy.config import Config
from isthmus.embedded.machine.programs import Program, Programs, Running, Site
from isthmus.embedded.mesh.installed import SYSTEM, WORKLOADS
from isthmus.embedded.mesh.waiting import is_ready, listens, until
from isthmus.kube.client import Client
from isthmus.kube.requests import Call
from isthmus.kube.resources import CONFIG_MAPS, SERVICE_ACCOUNTS, SERVICES, TOKEN_REQUESTS
from isthmus.kube.transport import Request
from isthmus.model.errors import IsthmusError
from isthmus.model.names import ANCHORS, CONTROLLER, TRUST, audience
from isthmus.model.objects import Key
from isthmus.model.reviews import TokenRequest

METRICS = 9991
DRAIN = 1.0  # seconds; whoever calls from this machine is gone in no time
LAG = 2.0  # seconds between two looks at what is mounted
_LIFETIME = 365 * 24 * 3600  # seconds: nobody here replaces a token while its pod lives


def ours(
    cluster: str,
    client: Client,
    controller: Program,
    carry: Callable[[Config, Site], Running],
    folder: Path | None = None,
) -> Programs:
    """What our own pods of ``cluster`` run; what is mounted into them is in ``folder``."""

    @asynccontextmanager
    async def proxy(site: Site, role: Literal["gateway", "egress"]) -> AsyncIterator[None]:
        with TemporaryDirectory(dir=folder) as mounted:
            config = await _config(cluster, client, site, role, Path(mounted))
            for place in (config.controller, config.ads):
                await until(partial(listens, *place), f"the controller of {cluster}")
            async with _kept(client, config.trust_file), carry(config, site):
                await until(
                    partial(is_ready, f"http://{site.address}:{METRICS}/ready"),
                    f"the {role} of {cluster}",
                )
                yield

    return {
        "isthmus.dev/controller": controller,
        "isthmus.dev/gateway": partial(proxy, role="gateway"),
        "isthmus.dev/egress": partial(proxy, role="egress"),
    }


@asynccontextmanager
async def _kept(client: Client, file: Path) -> AsyncIterator[None]:
    """Replace what is mounted when the cluster has something else, as a kubelet does it."""
    following = asyncio.create_task(_follow(client, file))
    try:
        # Not in a group of tasks: that would wrap what those who use this fail with.
        yield
    finally:
        following.cancel()
        with suppress(asyncio.CancelledError):
            await following


async def _follow(client: Client, file: Path) -> None:
    while True:
        await asyncio.sleep(LAG)
        try:
            current = (await client.get(CONFIG_MAPS, Key(SYSTEM, TRUST))).data[ANCHORS]
        except (IsthmusError, KeyError):
            continue  # what is there stays
        _replace(file, current)


def _replace(file: Path, text: str) -> None:
    if text != file.read_text():
        beside = file.with_suffix(".new")
        beside.write_text(text)
        beside.replace(file)


async def _config(
    cluster: str, client: Client, site: Site, role: Literal["gateway", "egress"], mounted: Path
) -> Config:
    token, trust = mounted / "token", mounted / ANCHORS
    token.touch(mode=0o600)
    token.write_text(await _token(cluster, client, site))
    trust.write_text((await client.get(CONFIG_MAPS, Key(SYSTEM, TRUST))).data[ANCHORS])
    controller = (await client.get(SERVICES, Key(SYSTEM, CONTROLLER))).spec.cluster_ip
    ports = WORKLOADS[CONTROLLER]
    return Config(
        role=role,
        cluster_name=cluster,
        controller=(controller, ports["https"]),
        ads=(controller, ports["grpc"]),
        token_file=token,
        trust_file=trust,
        directory=mounted,
        name=site.hostname,
        address=site.address,
        metrics=(site.address, METRICS),
        concurrency=1,
        drain=DRAIN,
        linger=0.0,
    )


async def _token(cluster: str, client: Client, site: Site) -> str:
    """Have a token for the pod's own account that dies with the pod, as projected ones do."""
    metadata, account = site.pod.metadata, site.pod.spec.service_account_name
    pod = {"kind": "Pod", "apiVersion": "v1", "name": metadata.name, "uid": metadata.uid}
    spec = {
        "audiences": [audience(cluster)],
        "boundObjectRef": pod,
        "expirationSeconds": _LIFETIME,
    }
    request = Request(
        method="POST",
        path=SERVICE_ACCOUNTS.path(Key(metadata.namespace, account), "token"),
        headers={"Content-Type": "application/json"},
        body=msgspec.json.encode({"spec": spec}),
    )
    call = Call(verb="create", resource=TOKEN_REQUESTS, where=account, request=request)
    answer = await client.exchange.fetch(call, client.limits.object_bytes)
    return msgspec.json.decode(answer, type=TokenRequest).status.token
