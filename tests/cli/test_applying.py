"""Objects brought into a cluster: created, configured or unchanged, and never over others."""

import pytest

from isthmus.cli.applying import Contested, applied, carried_out, rehearsed
from isthmus.kube.client import Client
from isthmus.kube.plain import KINDS
from isthmus.kube.transport import Request, Response
from isthmus.model.objects import Key
from isthmus.model.wire import JsonObject
from tests.support.embedded import cluster
from tests.support.kubeconfigs import CANARY
from tests.support.transports import Intercepting

CONFIG_MAPS = KINDS["ConfigMap"]
KEY = Key("default", "a")


def config(**data: str) -> JsonObject:
    return {"metadata": {"name": KEY.name, "namespace": KEY.namespace}, "data": data}


def connected() -> tuple[Client, list[str]]:
    """A client, and the writes that it has made for good."""
    writes: list[str] = []

    async def note(request: Request) -> Response | None:
        if request.method != "GET" and ("dryRun", "All") not in request.query:
            writes.append(request.method)
        return None

    return Client(Intercepting(cluster().transport(), note)), writes


async def test_what_changes_nothing_is_not_written() -> None:
    client, writes = connected()
    for wanted, expected in (
        (config(x="1"), "created"),
        (config(x="1"), "unchanged"),
        (config(x="2"), "configured"),
        (config(), "configured"),
        (config(), "unchanged"),
    ):
        change = await applied(client, CONFIG_MAPS, wanted)
        assert (str(change), change.outcome) == ("configmap/a", expected)
    assert writes == ["PATCH"] * 3


async def test_a_rehearsal_writes_nothing() -> None:
    client, writes = connected()
    change = await rehearsed(client, CONFIG_MAPS, config(x="1"))
    assert (change.outcome, writes) == ("created", [])
    assert (await carried_out(client, change)).after["metadata"]["uid"]
    assert writes == ["PATCH"]


async def test_what_somebody_else_has_made_the_same_way_stays_theirs() -> None:
    client, writes = connected()
    await client.create(CONFIG_MAPS, config(x="1", y="2"))
    assert (await applied(client, CONFIG_MAPS, config(x="1"))).outcome == "unchanged"
    assert writes == ["POST"]


async def test_what_somebody_else_has_set_is_overwritten_only_if_that_is_said() -> None:
    client, _ = connected()
    await client.create(CONFIG_MAPS, config(x="1"))
    with pytest.raises(Contested, match=r"configmap/a: .*\.data\.x.* --force-conflicts"):
        await applied(client, CONFIG_MAPS, config(x="2"))
    assert (await client.get(CONFIG_MAPS, KEY))["data"] == {"x": "1"}
    assert (await applied(client, CONFIG_MAPS, config(x="2"), force=True)).outcome == "configured"


async def test_nothing_of_a_secret_is_shown() -> None:
    client, _ = connected()
    wanted = {"metadata": config()["metadata"], "stringData": {"token": CANARY}}
    change = await applied(client, KINDS["Secret"], wanted)
    assert CANARY not in repr(change)
