"""An operator with two clusters in which Isthmus is installed, and a kubeconfig for both."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from isthmus import install
from isthmus.cli import main
from isthmus.embedded.fronts.kubeconfigs import Entry, kubeconfig
from isthmus.embedded.fronts.server import serve
from isthmus.install.values import parse
from isthmus.kube.plain import KINDS
from isthmus.kube.resources import SERVICE_ACCOUNTS
from isthmus.model.names import CONTROLLER, GATEWAY
from isthmus.model.objects import Key
from isthmus.model.reviews import TokenRequest, TokenRequestSpec
from isthmus.model.wire import Json, JsonObject
from tests.apps.clusters import Place, furnish, place

ADDRESSES = {"east": "203.0.113.1", "west": "203.0.113.9"}
SHOWN = {("Deployment", CONTROLLER), ("Service", GATEWAY)}  # of what is installed


async def installed(name: str, number: int = 0, *, address: str | None = None) -> Place:
    """A cluster with our kinds and what an installation shows of itself; nothing runs."""
    made = place(name, number)
    await furnish(made)
    said = (f"clusterName={name}", f"clusterDomain={name}.cluster.local")
    objects = install.objects(parse(said, {}))
    for one in objects:
        if (one["kind"], one["metadata"]["name"]) in SHOWN:
            await made.create(KINDS[one["kind"]], one)
    await give_address(made, ADDRESSES[name] if address is None else address)
    return made


async def give_address(made: Place, address: str) -> None:
    """Let a cloud say where the gateway is reached."""
    ingress = [{"hostname" if address[-1].isalpha() else "ip": address}] if address else []
    patch = {"status": {"loadBalancer": {"ingress": ingress}}}
    await made.client.merge_patch(KINDS["Service"], Key("isthmus", GATEWAY), patch, "status")


@dataclass
class Desk:
    """``config`` has the contexts east and west."""

    east: Place
    west: Place
    config: Path
    entries: Sequence[Entry] = field(repr=False)

    async def run(self, *words: str) -> int:
        """Type a command of ours; its output goes where that of a process would."""
        return await asyncio.to_thread(main.run, ["--kubeconfig", str(self.config), *words])

    def write(self, entries: Sequence[Entry]) -> None:
        self.config.write_text(yaml.safe_dump(kubeconfig(entries)))

    async def become(self, which: Place, *rules: JsonObject) -> None:
        """From now on, be somebody in one of the clusters who may do this and no more."""
        token = await _restricted(which, rules)
        self.write(
            [
                Entry(cluster=one.cluster, url=one.url, token=token, ca_pem=one.ca_pem)
                if one.cluster == which.name
                else one
                for one in self.entries
            ]
        )


@asynccontextmanager
async def desk(directory: Path) -> AsyncIterator[Desk]:
    east, west = await installed("east", 0), await installed("west", 1)
    async with AsyncExitStack() as stack:
        served = [await stack.enter_async_context(serve(one.cluster)) for one in (east, west)]
        made = Desk(east, west, directory / "config", [one.entry() for one in served])
        made.write(made.entries)
        yield made


def rule(group: str, resource: str, *verbs: str) -> JsonObject:
    return {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}


async def _restricted(where: Place, rules: Sequence[JsonObject]) -> str:
    """Return the token of an account that may do what ``rules`` say, everywhere."""
    account = Key("default", "bob")
    metadata: Json = {"name": account.name, "namespace": account.namespace}
    await where.create(KINDS["ServiceAccount"], {"metadata": metadata})
    await where.create(KINDS["ClusterRole"], {"metadata": {"name": "bob"}, "rules": list(rules)})
    group = "rbac.authorization.k8s.io"
    binding = {
        "metadata": {"name": "bob"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "bob"},
        "subjects": [{"kind": SERVICE_ACCOUNTS.kind, **metadata}],
    }
    await where.create(KINDS["ClusterRoleBinding"], binding)
    asked = TokenRequest(spec=TokenRequestSpec())
    return (await where.client.request_token(account, asked)).status.token
