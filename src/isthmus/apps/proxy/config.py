"""What can be said about a proxy before it starts, checked once and never changed."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from isthmus.model.errors import Misused
from isthmus.model.identities import MESH_DOMAIN, Identity, NotAnIdentity, trust_domain
from isthmus.model.names import CONTROLLER, EGRESS, GATEWAY
from isthmus.model.syntax import is_dns_label, is_port, is_subdomain

ACCOUNTS = {"gateway": GATEWAY, "egress": EGRESS}


class BadOption(Misused):
    """A proxy cannot run like this. Says which option, and what it takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """``directory`` is private to this proxy, and should be in memory: its key is there."""

    role: Literal["gateway", "egress"]
    cluster_name: str
    controller: tuple[str, int]  # where certificates are signed
    ads: tuple[str, int]  # where configuration is served
    token_file: Path
    trust_file: Path
    directory: Path
    mesh_domain: str = MESH_DOMAIN
    namespace: str = "isthmus"  # of the proxy and its controller
    name: str = ""  # of the pod; else the machine's
    address: str = "0.0.0.0"  # where it listens: all addresses, unless others share the machine
    metrics: tuple[str, int] = ("0.0.0.0", 9991)
    concurrency: int = 2
    drain: float = 30.0  # seconds for callers to leave
    # Of these: how long others still come, who have not heard that it ends. Mirrors lead to an
    # egress until a controller says otherwise, and the one that leads may just be replaced.
    linger: float = 15.0
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["json", "text"] = "json"

    def __post_init__(self) -> None:
        if self.role not in ACCOUNTS:
            raise BadOption(f"--role {self.role[:20]!r}: must be gateway or egress")
        try:
            trust_domain(self.cluster_name, self.mesh_domain)
        except NotAnIdentity as error:
            raise BadOption(f"--cluster-name or --mesh-domain: {error}") from None
        if not is_dns_label(self.namespace):
            raise BadOption(f"--namespace {self.namespace[:63]!r}: must be a DNS label")
        for option, file in (("token-file", self.token_file), ("trust-file", self.trust_file)):
            if not file.is_file():
                raise BadOption(f"--{option} {file}: no such file; does the pod mount it?")
        if not self.directory.is_dir() or not os.access(self.directory, os.W_OK):
            raise BadOption(f"--directory {self.directory}: not a directory that we can write to")
        if self.concurrency < 1 or self.drain < 0 or self.linger < 0:
            raise BadOption(
                "--concurrency must be at least 1, --drain and --linger must not be negative"
            )

    @property
    def identity(self) -> Identity:
        """Who this proxy has to be, for others to believe it."""
        return Identity(self.cluster_name, self.mesh_domain, self.namespace, ACCOUNTS[self.role])

    @property
    def controller_identity(self) -> Identity:
        return self.identity._replace(account=CONTROLLER)


def place(option: str, text: str) -> tuple[str, int]:
    """Return the host and port that ``text`` names, as ``isthmus-controller.isthmus:8443``."""
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    is_name = is_subdomain(host.removesuffix("."))
    is_address = ":" in host and set(host) <= set("0123456789abcdefABCDEF:.")
    if not (is_name or is_address) or not port.isdecimal() or not is_port(int(port)):
        raise BadOption(f"--{option} {text[:80]!r}: must be HOST:PORT")
    return host, int(port)
