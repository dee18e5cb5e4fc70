"""What the lab builds, as values: one place names every version."""

import os
from dataclasses import dataclass
from pathlib import Path

KUBERNETES = "v1.36.3"
ETCD = "v3.7.3"
COREDNS = "v1.15.0"
HELM = "v4.3.1"

MODULES = Path(__file__).parent / "go"  # one go.mod for each family of binaries
TOOLCHAIN = MODULES / "toolchain.txt"  # the Go to install where there is none
OLDEST_GO = (1, 26)  # as the go.mod files say


@dataclass(frozen=True, slots=True, kw_only=True)
class Binary:
    """One program: which package of which module it is, and the version that names its file."""

    name: str
    version: str
    module: str  # a folder of lab/go
    package: str
    variables: tuple[tuple[str, str], ...] = ()  # what the linker writes into the program

    @property
    def path(self) -> Path:
        """Where the built program lies, or will lie."""
        return cache() / "bin" / f"{self.name}-{self.version}"

    @property
    def is_built(self) -> bool:
        return os.access(self.path, os.X_OK)


def cache() -> Path:
    """The folder that outlives checkouts: a build is needed once per version and machine."""
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "isthmus"


def kubernetes(name: str) -> Binary:
    major, minor, _ = KUBERNETES.removeprefix("v").split(".")
    stamp = "k8s.io/component-base/version."
    return Binary(
        name=name,
        version=KUBERNETES,
        module="kubernetes",
        package=f"k8s.io/kubernetes/cmd/{name}",
        variables=(
            (f"{stamp}gitVersion", KUBERNETES),
            (f"{stamp}gitMajor", major),
            (f"{stamp}gitMinor", minor),
        ),
    )


ETCD_SERVER = Binary(name="etcd", version=ETCD, module="etcd", package="go.etcd.io/etcd/server/v3")
API_SERVER = kubernetes("kube-apiserver")
CONTROLLER_MANAGER = kubernetes("kube-controller-manager")
KUBECTL = kubernetes("kubectl")
HELM_CLIENT = Binary(
    name="helm",
    version=HELM,
    module="helm",
    package="helm.sh/helm/v4/cmd/helm",
    variables=(("helm.sh/helm/v4/internal/version.version", HELM),),
)
SCHEDULER = kubernetes("kube-scheduler")
KUBELET = kubernetes("kubelet")
KUBE_PROXY = kubernetes("kube-proxy")
DNS = Binary(name="coredns", version=COREDNS, module="coredns", package=".")

CONTROL_PLANE = (ETCD_SERVER, API_SERVER, CONTROLLER_MANAGER)
WITHOUT_NODES = (*CONTROL_PLANE, KUBECTL, HELM_CLIENT)
WITH_NODES = (*CONTROL_PLANE, KUBECTL, SCHEDULER, KUBELET, KUBE_PROXY, DNS)
BINARIES = (*WITHOUT_NODES, SCHEDULER, KUBELET, KUBE_PROXY, DNS)
