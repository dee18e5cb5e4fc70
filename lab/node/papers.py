"""The certificates, tokens and kubeconfigs of a cluster with a node: one identity per program."""

import json
import secrets
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.x509.oid import NameOID

from isthmus.pki.keys import chain_pem, key_pem, new_key
from isthmus.pki.shape import LEEWAY, blank
from lab.clusters import Cluster
from lab.controlplane import kubeconfig
from lab.papers import Papers, issue, write

ADMIN = "admin"
SCHEDULER = "scheduler"
CONTROLLERS = "controllers"
PROXY = "proxy"
NODE = "node"


def prepare(cluster: Cluster, folder: Path) -> Papers:
    """Issue what the programs of ``cluster`` identify themselves with, as files in ``folder``."""
    service = ("kubernetes", "kubernetes.default", "kubernetes.default.svc")
    papers = issue(
        folder,
        names=("localhost", *service, f"kubernetes.default.svc.{cluster.domain}"),
        addresses=("127.0.0.1", cluster.address, cluster.api_address),
    )
    # The names and groups that Kubernetes' own roles, node authorizer and NodeRestriction expect.
    users = {
        SCHEDULER: ("system:kube-scheduler", ""),
        CONTROLLERS: ("system:kube-controller-manager", ""),
        PROXY: ("system:kube-proxy", ""),
        NODE: (f"system:node:{cluster.name}", "system:nodes"),
    }
    lines = papers.token_file.read_text()
    _write_kubeconfig(folder, cluster, ADMIN, (papers.ca_pem, papers.admin_token))
    for program, (user, group) in users.items():
        token = secrets.token_urlsafe(32)
        lines += f"{token},{user},{user},{group}\n"
        _write_kubeconfig(folder, cluster, program, (papers.ca_pem, token))
    papers.token_file.write_text(lines)
    _write_client(folder)
    return papers


def _write_kubeconfig(folder: Path, cluster: Cluster, program: str, how: tuple[str, str]) -> None:
    config = kubeconfig(cluster.name, cluster.url, *how)
    write(folder / f"{program}.kubeconfig", json.dumps(config).encode())


def _write_client(folder: Path) -> None:
    """What the API server shows to the kubelet, which trusts this one certificate and no other."""
    key, now = new_key(), datetime.now(UTC)
    name = x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:masters"),
            x509.NameAttribute(NameOID.COMMON_NAME, "kube-apiserver"),
        ]
    )
    certificate = (
        blank(key.public_key(), now - LEEWAY, now + timedelta(days=365))
        .subject_name(name)
        .issuer_name(name)
        .sign(key, hashes.SHA256())
    )
    write(folder / "kubelet-client.crt", chain_pem(certificate))
    write(folder / "kubelet-client.key", key_pem(key))
