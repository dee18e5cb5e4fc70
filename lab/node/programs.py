"""The programs of a node, as values: who needs whom, and how to see that each one works."""

import socket
import sys
from collections.abc import Callable

from lab.asking import answers
from lab.clusters import API_PORT, Cluster
from lab.node import papers
from lab.node.settings import CONTAINERD_SOCKET, Places
from lab.process import Process
from lab.programs import Serving, api_server, certified, controller_manager, etcd
from lab.versions import API_SERVER, KUBE_PROXY, KUBELET, SCHEDULER

ETCD_URL = "http://127.0.0.1:2379"
BALANCER = "balancer"
CONTAINERD = "containerd"


def programs(cluster: Cluster) -> tuple[Process, ...]:
    """What runs on the node of ``cluster``, in an order in which it can be started."""
    places = Places(cluster.folder)
    ca = (places.papers / "ca.crt").read_text()
    return (
        etcd(cluster.folder, ETCD_URL, "http://127.0.0.1:2380"),
        _api_server(cluster, places, ca),
        _controller_manager(cluster, places, ca),
        _scheduler(places, ca),
        _containerd(places),
        _kubelet(cluster, places),
        _kube_proxy(places),
        Process(
            name=BALANCER,
            needs=(API_SERVER.name,),
            argv=(sys.executable, "-m", "lab.node.balancer", cluster.name),
            ready=lambda: True,
        ),
    )


def _api_server(cluster: Cluster, places: Places, ca: str) -> Process:
    folder = places.papers
    serving = Serving(
        etcd_url=ETCD_URL,
        papers=folder,
        address=cluster.address,
        port=API_PORT,
        domain=cluster.domain,
        services=cluster.services,
    )
    own = (
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        # Without this, `kubectl exec` looks the node's name up in a DNS that has no such name.
        "--kubelet-preferred-address-types=InternalIP",
        f"--kubelet-certificate-authority={folder / 'ca.crt'}",
        f"--kubelet-client-certificate={folder / 'kubelet-client.crt'}",
        f"--kubelet-client-key={folder / 'kubelet-client.key'}",
    )
    return api_server(serving, own, _asking(f"{cluster.url}/readyz", ca))


def _controller_manager(cluster: Cluster, places: Places, ca: str) -> Process:
    own = (
        "--use-service-account-credentials",
        *certified(places.papers),
        f"--cluster-cidr={cluster.pods}",
    )
    ready = _asking("https://127.0.0.1:10257/healthz", ca)
    return controller_manager(places.papers, places.kubeconfig(papers.CONTROLLERS), own, ready)


def _scheduler(places: Places, ca: str) -> Process:
    return Process(
        name=SCHEDULER.name,
        needs=(API_SERVER.name,),
        argv=(
            str(SCHEDULER.path),
            f"--kubeconfig={places.kubeconfig(papers.SCHEDULER)}",
            *certified(places.papers),
            "--leader-elect=false",
        ),
        ready=_asking("https://127.0.0.1:10259/healthz", ca),
    )


def _containerd(places: Places) -> Process:
    return Process(
        name=CONTAINERD,
        argv=("containerd", f"--config={places.settings / 'containerd.toml'}"),
        ready=_listens,
    )


def _kubelet(cluster: Cluster, places: Places) -> Process:
    return Process(
        name=KUBELET.name,
        needs=(API_SERVER.name, CONTAINERD),
        argv=(
            str(KUBELET.path),
            f"--config={places.settings / 'kubelet.json'}",
            f"--kubeconfig={places.kubeconfig(papers.NODE)}",
            f"--root-dir={places.folder / 'kubelet'}",
            f"--hostname-override={cluster.name}",
            f"--node-ip={cluster.address}",
        ),
        ready=_asking("http://127.0.0.1:10248/healthz"),
    )


def _kube_proxy(places: Places) -> Process:
    return Process(
        name=KUBE_PROXY.name,
        needs=(API_SERVER.name,),
        argv=(str(KUBE_PROXY.path), f"--config={places.settings / 'kube-proxy.json'}"),
        ready=_asking("http://127.0.0.1:10249/healthz"),
    )


def _asking(url: str, ca: str | None = None) -> Callable[[], bool]:
    return lambda: answers(url, ca=ca)


def _listens() -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(CONTAINERD_SOCKET)
        except OSError:
            return False
    return True
