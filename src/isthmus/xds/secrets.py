"""What proxies prove themselves with, and check others against, as Envoy takes it.

The answers are opaque on purpose: no message that holds a key outlives these functions, because
whatever prints a message prints the key.
"""

from envoy.extensions.transport_sockets.tls.v3 import secret_pb2

from isthmus.xds.names import ANCHORS, account_secret
from isthmus.xds.resources import Resource, resource
from isthmus.xds.tls import OWN


def own(chain: bytes, key: bytes) -> Resource:
    """A proxy's own certificate, leaf first, for the file that its launcher keeps."""
    return _certificate(OWN, chain, key)


def account(name: str, chain: bytes, key: bytes) -> Resource:
    """The certificate under which the calls of one "namespace/account" leave."""
    return _certificate(account_secret(name), chain, key)


def anchors(bundle: bytes) -> Resource:
    """The trust anchors, in PEM."""
    return resource(
        secret_pb2.Secret(name=ANCHORS, validation_context={"trusted_ca": {"inline_bytes": bundle}})
    )


def _certificate(name: str, chain: bytes, key: bytes) -> Resource:
    return resource(
        secret_pb2.Secret(
            name=name,
            tls_certificate={
                "certificate_chain": {"inline_bytes": chain},
                "private_key": {"inline_bytes": key},
            },
        )
    )
