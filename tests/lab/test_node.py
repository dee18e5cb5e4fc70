"""What a node is told, and what is made of what the machine says."""

import json
import os
from pathlib import Path

import pytest

from isthmus.model.wire import Json
from lab import packages
from lab.cgroups import hierarchies
from lab.clusters import EAST
from lab.node.addons import addons
from lab.node.balancer import lacks
from lab.node.settings import files
from lab.packages import NotPossibleHere, require_root

MOUNTS = """\
tmpfs /sys/fs/cgroup tmpfs rw 0 0
cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0
cgroup /sys/fs/cgroup/pids cgroup rw,pids 0 0
cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0
/dev/vda / ext4 rw 0 0
"""


def service(kind: str, *, ingress: list[Json] | None = None) -> Json:
    status = {} if ingress is None else {"loadBalancer": {"ingress": ingress}}
    return {"metadata": {"name": "x"}, "spec": {"type": kind}, "status": status}


@pytest.mark.parametrize(
    "found, expected",
    [
        pytest.param(service("ClusterIP"), False, id="not asked for"),
        pytest.param(service("LoadBalancer"), True, id="asked for"),
        pytest.param(service("LoadBalancer", ingress=[]), True, id="none yet"),
        pytest.param(
            service("LoadBalancer", ingress=[{"ip": "10.0.0.1", "ipMode": "VIP"}]), False, id="had"
        ),
        pytest.param(
            service("LoadBalancer", ingress=[{"ip": "10.0.0.2", "ipMode": "VIP"}]), True, id="other"
        ),
    ],
)
def test_a_load_balancer_has_the_address_of_the_node(found: Json, expected: bool) -> None:
    assert lacks(found, "10.0.0.1") == expected


def test_control_groups_are_where_the_machine_has_mounted_them() -> None:
    found = [(str(path), kind) for path, kind in hierarchies(MOUNTS)]
    assert found == [
        ("/sys/fs/cgroup/cpu", "cgroup"),
        ("/sys/fs/cgroup/pids", "cgroup"),
        ("/sys/fs/cgroup/unified", "cgroup2"),
    ]


def test_pods_ask_the_cluster_s_own_dns_and_nothing_else() -> None:
    kubelet = json.loads(files(EAST)[EAST.folder / "etc" / "kubelet.json"])
    assert kubelet["clusterDNS"] == [EAST.dns_address]
    assert kubelet["clusterDomain"] == "east.cluster.local"
    (service,) = [one for one in addons(EAST) if one["kind"] == "Service"]
    assert service["spec"]["clusterIP"] == EAST.dns_address
    (config,) = [one for one in addons(EAST) if one["kind"] == "ConfigMap"]
    assert "kubernetes east.cluster.local" in config["data"]["Corefile"]
    assert "forward" not in config["data"]["Corefile"]


def test_without_root_there_is_another_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(NotPossibleHere, match=r"run it as root.*make test-real"):
        require_root()


def test_what_cannot_be_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "PACKAGES", {"frobnicator": str(tmp_path / "none")})
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotPossibleHere, match="no apt-get to install them: frobnicator"):
        packages.install()
