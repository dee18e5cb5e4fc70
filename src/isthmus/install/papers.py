"""What a cluster trusts, and what it signs with, as objects; where they are given to us."""

from base64 import b64encode
from collections.abc import Iterator

from isthmus.install.parts import inside, labels
from isthmus.install.values import Values
from isthmus.model.names import ANCHORS, CONTROLLER, ISSUER, TRUST
from isthmus.model.wire import JsonObject


def papers(values: Values) -> Iterator[JsonObject]:
    """The anchors and the issuer, if they are among the values."""
    trust = values.trust
    if trust.anchors:
        yield {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": inside(values, TRUST, of=CONTROLLER),
            "data": {ANCHORS: trust.anchors},
        }
    if trust.issuer.key:
        secret = issuer_secret(
            values.namespace, trust.issuer.certificate.encode(), trust.issuer.key.encode()
        )
        secret["metadata"]["labels"] = labels(CONTROLLER)
        yield secret


def issuer_secret(namespace: str, certificate: bytes, key: bytes) -> JsonObject:
    """The Secret that a controller signs with, from PEM."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": ISSUER, "namespace": namespace},
        "type": "kubernetes.io/tls",
        "data": {
            "tls.crt": b64encode(certificate).decode(),
            "tls.key": b64encode(key).decode(),
        },
    }
