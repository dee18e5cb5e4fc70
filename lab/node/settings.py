"""The configuration files of a node, as values: what each program is told, and why."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lab.clusters import Cluster
from lab.node import papers

CONTAINERD_SOCKET = "/run/containerd/containerd.sock"
CNI_PLUGINS = "/usr/lib/cni"
CNI_STATE = Path("/var/lib/cni")
# Places that the network plugins and the kubelet cannot be talked out of.
FIXED_PLACES = (CNI_STATE, Path("/var/lib/kubelet"))
PAUSE = "docker.io/library/pause:lab"  # holds a pod's namespaces open

# The sandbox's OOM score stays what it is: a container may not lower it, on many machines.
CONTAINERD = """\
version = 2
root = "{root}"
state = "/run/containerd"

[grpc]
  address = "{socket}"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{plugins}"
    conf_dir = "{networks}"
"""


@dataclass(frozen=True, slots=True)
class Places:
    """Where the parts of a node lie in its folder."""

    folder: Path

    @property
    def papers(self) -> Path:
        return self.folder / "papers"

    @property
    def settings(self) -> Path:
        return self.folder / "etc"

    @property
    def logs(self) -> Path:
        return self.folder / "log"

    @property
    def held(self) -> Path:
        """A file here with the name of a program keeps it from running."""
        return self.folder / "held"

    @property
    def status(self) -> Path:
        return self.folder / "status.json"

    def kubeconfig(self, program: str) -> Path:
        return self.papers / f"{program}.kubeconfig"


def files(cluster: Cluster) -> Mapping[Path, str]:
    """Every configuration file of the node, by its path."""
    places = Places(cluster.folder)
    etc = places.settings
    containerd = CONTAINERD.format(
        root=cluster.folder / "containerd",
        socket=CONTAINERD_SOCKET,
        pause=PAUSE,
        plugins=CNI_PLUGINS,
        networks=etc / "cni",
    )
    return {
        etc / "containerd.toml": containerd,
        etc / "cni" / "pods.conflist": json.dumps(_pod_network(cluster), indent=2),
        etc / "kubelet.json": json.dumps(_kubelet(cluster, places), indent=2),
        etc / "kube-proxy.json": json.dumps(_kube_proxy(cluster, places), indent=2),
        etc / "resolv.conf": "# Pods know the names of their cluster, and no others.\n",
    }


def _pod_network(cluster: Cluster) -> object:
    # Every pod hangs on a wire of its own and every packet is routed, so that kube-proxy sees
    # also what pods of the same node say to one another.
    wire = {
        "type": "ptp",
        "ipMasq": True,  # other clusters have no route to pods: they see the node's address
        "mtu": 1500,
        "ipam": {
            "type": "host-local",
            "dataDir": str(CNI_STATE / "networks"),
            "ranges": [[{"subnet": cluster.pods}]],
            "routes": [{"dst": "0.0.0.0/0"}],
        },
    }
    ports = {"type": "portmap", "capabilities": {"portMappings": True}}
    return {"cniVersion": "0.4.0", "name": "pods", "plugins": [wire, ports]}


def _kubelet(cluster: Cluster, places: Places) -> object:
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {"x509": {"clientCAFile": str(places.papers / "kubelet-client.crt")}},
        "tlsCertFile": str(places.papers / "server.crt"),
        "tlsPrivateKeyFile": str(places.papers / "server.key"),
        "containerRuntimeEndpoint": f"unix://{CONTAINERD_SOCKET}",
        "clusterDNS": [cluster.dns_address],
        "clusterDomain": cluster.domain,
        "resolvConf": str(places.settings / "resolv.conf"),
        # A corner of the machine's own control groups, where pods and nothing else live.
        "cgroupRoot": cluster.cgroup,
        "cgroupDriver": "cgroupfs",
        "failCgroupV1": False,
        "enforceNodeAllocatable": [],
        # The machine is shared: its swap and its full disk are not the lab's to judge.
        "failSwapOn": False,
        "evictionHard": {},
        "imageGCHighThresholdPercent": 100,  # images were loaded by hand: nobody can pull them
        "maxPods": 250,
    }


def _kube_proxy(cluster: Cluster, places: Places) -> object:
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "clientConnection": {"kubeconfig": str(places.kubeconfig(papers.PROXY))},
        "hostnameOverride": cluster.name,
        "clusterCIDR": cluster.pods,
        "healthzBindAddress": "127.0.0.1:10256",
        "metricsBindAddress": "127.0.0.1:10249",
        # The limits of the kernel's table belong to the machine.
        "conntrack": {"maxPerCore": 0, "min": 0},
    }
