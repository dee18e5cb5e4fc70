"""The programs of a control plane, as values: what is the same wherever one runs."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lab.asking import answers
from lab.process import Process
from lab.versions import API_SERVER, CONTROLLER_MANAGER, ETCD_SERVER


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """What tells one API server from another."""

    etcd_url: str
    papers: Path  # the folder of certificates, keys and tokens, see lab.papers
    address: str  # as it is advertised
    port: int
    domain: str
    services: str  # the range of their addresses


def etcd(folder: Path, client_url: str, peer_url: str) -> Process:
    return Process(
        name=ETCD_SERVER.name,
        argv=(
            str(ETCD_SERVER.path),
            "--name=lab",
            f"--data-dir={folder / 'etcd'}",
            f"--listen-client-urls={client_url}",
            f"--advertise-client-urls={client_url}",
            f"--listen-peer-urls={peer_url}",
            f"--initial-advertise-peer-urls={peer_url}",
            f"--initial-cluster=lab={peer_url}",
            "--unsafe-no-fsync",
            "--log-level=warn",
        ),
        ready=lambda: answers(f"{client_url}/readyz"),
    )


def api_server(one: Serving, more: tuple[str, ...], ready: Callable[[], bool]) -> Process:
    accounts = one.papers / "service-accounts.key"
    return Process(
        name=API_SERVER.name,
        needs=(ETCD_SERVER.name,),
        argv=(
            str(API_SERVER.path),
            f"--etcd-servers={one.etcd_url}",
            f"--advertise-address={one.address}",
            f"--secure-port={one.port}",
            *certified(one.papers),
            f"--token-auth-file={one.papers / 'tokens.csv'}",
            f"--service-account-issuer=https://kubernetes.default.svc.{one.domain}",
            f"--service-account-signing-key-file={accounts}",
            f"--service-account-key-file={accounts}",
            f"--service-cluster-ip-range={one.services}",
            "--profiling=false",
            *more,
        ),
        ready=ready,
    )


def controller_manager(
    papers: Path, kubeconfig: Path, more: tuple[str, ...], ready: Callable[[], bool]
) -> Process:
    return Process(
        name=CONTROLLER_MANAGER.name,
        needs=(API_SERVER.name,),
        argv=(
            str(CONTROLLER_MANAGER.path),
            f"--kubeconfig={kubeconfig}",
            f"--root-ca-file={papers / 'ca.crt'}",
            f"--service-account-private-key-file={papers / 'service-accounts.key'}",
            "--leader-elect=false",
            *more,
        ),
        ready=ready,
    )


def certified(papers: Path) -> tuple[str, str]:
    """What a program is told that serves under the certificate of its cluster."""
    return (
        f"--tls-cert-file={papers / 'server.crt'}",
        f"--tls-private-key-file={papers / 'server.key'}",
    )
