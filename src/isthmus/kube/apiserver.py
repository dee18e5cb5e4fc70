"""Where an API server is and how to know it: what a kubeconfig's cluster comes down to."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiServer:
    """An API server's address with everything its TLS connection needs.

    Certificates and keys are PEM; ``ca_pem`` of None means the system's own authorities.
    A proxy URL may contain a password, so it is as secret as the client's key.
    """

    url: str  # https://host:port, perhaps with a path in front of the API's
    ca_pem: bytes | None = None
    client_cert_pem: bytes | None = None
    client_key_pem: bytes | None = field(default=None, repr=False)
    tls_server_name: str | None = None  # the name to verify instead of the URL's host
    proxy: str | None = field(default=None, repr=False)
    verify: bool = True  # False only where a person has said so in their own kubeconfig
    # Tells why we must not connect to an IP address; asked about all that a host name leads to.
    refusal: Callable[[str], str | None] | None = field(default=None, repr=False, compare=False)

    def presenting(self, pair: tuple[bytes, bytes] | None) -> "ApiServer":
        """Return the same server, to which we show this certificate, proving it with its key."""
        if pair is None:
            return self
        return replace(self, client_cert_pem=pair[0], client_key_pem=pair[1])
