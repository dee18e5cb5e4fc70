"""One real Kubernetes control plane on loopback, without root: etcd, kube-apiserver, controllers.

There is no node, so pods stay Pending; for the behaviour of the API nothing else is missing.
"""

import base64
import ipaddress
import json
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGCONT, SIGSTOP

from isthmus.model.wire import Json, JsonObject
from isthmus.runtime.folders import private_folder
from lab.asking import answers
from lab.claims import free_ports
from lab.papers import Papers, issue
from lab.process import Process, Supervisor
from lab.programs import Serving, api_server, controller_manager, etcd
from lab.versions import API_SERVER

# The controllers whose work clients of the API see: namespaces that end, owners that go,
# and what every namespace and service account gets. Workload controllers would only add noise.
CONTROLLERS = (
    "namespace-controller",
    "garbage-collector-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "root-ca-certificate-publisher-controller",
)
# Anonymous callers may ask whether the server is well, and nothing else: they get 401, not 403.
ANONYMOUS_PATHS = ("/livez", "/readyz", "/healthz", "/version")
AUDIT_LOG = "audit.log"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What tells one lab cluster from another."""

    name: str = "lab"
    domain: str = "cluster.local"
    service_range: str = "10.96.0.0/16"
    audit: bool = False  # whether everything that is asked of the API server is written down


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlPlane:
    """A running control plane; made by :func:`control_plane` only."""

    settings: Settings
    url: str
    etcd_url: str
    papers: Papers
    supervisor: Supervisor = field(repr=False)

    @property
    def admin_token(self) -> str:
        return self.papers.admin_token

    def kubeconfig(self) -> JsonObject:
        """A kubeconfig of the administrator, complete in itself."""
        return kubeconfig(self.settings.name, self.url, self.papers.ca_pem, self.papers.admin_token)

    def audited(self) -> list[JsonObject]:
        """Everything that was asked of the API server, by whom, and what came of it."""
        lines = (self.supervisor.logs / AUDIT_LOG).read_text().splitlines()
        return [json.loads(line) for line in lines]

    def compact(self) -> None:
        """Make etcd forget all history, as it does every five minutes in a real cluster.

        The API server has recent history in memory, too, and goes on serving from it; one that
        is restarted begins with what etcd still knows.
        """
        state = self._etcd("/v3/kv/range", {"key": _b64("/")})
        revision = state["header"]["revision"]
        self._etcd("/v3/kv/compaction", {"revision": revision, "physical": True})

    def begin_restart(self) -> None:
        """Crash the API server and launch it again on the same port; etcd keeps the state.

        This part of a restart returns at once, for callers with other work to do.
        """
        self.supervisor.launch(self.supervisor.crash(API_SERVER.name))

    def end_restart(self) -> None:
        """Wait until the API server is back; any thread may do the waiting."""
        self.supervisor.wait(API_SERVER.name)

    def pause(self) -> None:
        """Freeze the API server: connections stay open and nothing comes through them."""
        self.supervisor.signal(API_SERVER.name, SIGSTOP)

    def resume(self) -> None:
        self.supervisor.signal(API_SERVER.name, SIGCONT)

    def _etcd(self, path: str, body: JsonObject) -> Json:
        request = urllib.request.Request(self.etcd_url + path, data=json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)


@contextmanager
def control_plane(settings: Settings | None = None) -> Iterator[ControlPlane]:
    """Start a control plane; end it, and remove its data, when the context ends."""
    settings = settings or Settings()
    first_address = next(ipaddress.ip_network(settings.service_range).hosts())
    with (
        private_folder("isthmus-plane-") as folder,
        free_ports(3) as (etcd_port, peer_port, api_port),
    ):
        papers = issue(
            folder,
            names=(
                "localhost",
                "kubernetes",
                "kubernetes.default",
                "kubernetes.default.svc",
                f"kubernetes.default.svc.{settings.domain}",
            ),
            addresses=("127.0.0.1", str(first_address)),
        )
        supervisor = Supervisor(logs=folder)
        plane = ControlPlane(
            settings=settings,
            url=f"https://127.0.0.1:{api_port}",
            etcd_url=f"http://127.0.0.1:{etcd_port}",
            papers=papers,
            supervisor=supervisor,
        )
        try:
            supervisor.start(
                (
                    etcd(folder, plane.etcd_url, f"http://127.0.0.1:{peer_port}"),
                    _api_server(folder, plane, api_port),
                    _controller_manager(folder, plane),
                )
            )
            yield plane
        finally:
            supervisor.stop_all()


def kubeconfig(name: str, url: str, ca_pem: str, token: str) -> JsonObject:
    cluster = {"server": url, "certificate-authority-data": _b64(ca_pem)}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": f"{name}-admin", "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": f"{name}-admin"}}],
        "current-context": name,
    }


def _api_server(folder: Path, plane: ControlPlane, port: int) -> Process:
    papers, settings = plane.papers, plane.settings
    anonymous = {"enabled": True, "conditions": [{"path": path} for path in ANONYMOUS_PATHS]}
    authentication = folder / "authentication.json"
    authentication.write_text(
        json.dumps(
            {
                "apiVersion": "apiserver.config.k8s.io/v1",
                "kind": "AuthenticationConfiguration",
                "anonymous": anonymous,
            }
        )
    )
    serving = Serving(
        etcd_url=plane.etcd_url,
        papers=folder,
        # Endpoints may not be loopback addresses; nobody connects to this one.
        address="192.0.2.1",
        port=port,
        domain=settings.domain,
        services=settings.service_range,
    )
    own = (
        "--etcd-compaction-interval=0",  # history ends when a test says so
        "--bind-address=127.0.0.1",
        f"--authentication-config={authentication}",
        "--authorization-mode=RBAC",
        *(_audit(folder) if settings.audit else ()),
    )
    return api_server(serving, own, lambda: _answers(f"{plane.url}/readyz", papers))


def _audit(folder: Path) -> tuple[str, ...]:
    """Have every request written down, without what is in it."""
    policy = folder / "audit.json"
    rules = [{"level": "Metadata", "omitStages": ["RequestReceived"]}]
    policy.write_text(
        json.dumps({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": rules})
    )
    return (f"--audit-policy-file={policy}", f"--audit-log-path={folder / AUDIT_LOG}")


def _controller_manager(folder: Path, plane: ControlPlane) -> Process:
    credentials = folder / "controllers.kubeconfig"
    credentials.touch(mode=0o600)
    credentials.write_text(json.dumps(plane.kubeconfig()))
    # Its first visible deed is the sign that it works.
    account = f"{plane.url}/api/v1/namespaces/default/serviceaccounts/default"
    own = (
        f"--controllers={','.join(CONTROLLERS)}",
        "--secure-port=0",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
    )
    return controller_manager(folder, credentials, own, lambda: _answers(account, plane.papers))


def _answers(url: str, papers: Papers) -> bool:
    return answers(url, ca=papers.ca_pem, token=papers.admin_token)


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
