"""A proxy that counts as told holds what it was told: everything is measured from then on."""

from pathlib import Path

import pytest
from envoy.config.cluster.v3 import cluster_pb2

from bench.dataplane.proxies import GATEWAY, controller, proxy
from bench.trial import Failed
from isthmus.xds.resources import CLUSTER, resource, together
from isthmus.xds.snapshot import Snapshot, snapshot

pytestmark = pytest.mark.sockets


def told(*names: str) -> Snapshot:
    clusters = (
        cluster_pb2.Cluster(name=name, type="STATIC", connect_timeout={"seconds": 1})
        for name in names
    )
    return snapshot(together(map(resource, clusters)))


async def test_a_told_proxy_has_acknowledged_every_version(tmp_path: Path) -> None:
    async with controller() as told_by, proxy(GATEWAY, told_by, tmp_path):
        await told_by.tell(GATEWAY, told("one", "two"), 30)
        session = told_by.session(GATEWAY)
        assert session is not None
        assert not session.pending
        assert session.acknowledged(CLUSTER, "one")
        assert session.acknowledged(CLUSTER, "two")


async def test_who_is_not_there_cannot_be_told() -> None:
    async with controller() as told_by:
        with pytest.raises(Failed, match="the gateway told: not within 0 s"):
            await told_by.tell(GATEWAY, told("one"), 0.01)
