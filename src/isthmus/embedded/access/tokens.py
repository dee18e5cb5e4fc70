"""Service account tokens: JSON Web Tokens signed with a cluster's own key (RFC 7519, ES256)."""

import base64
import hashlib

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import (
    decode_dss_signature,
    encode_dss_signature,
)

from isthmus.model.wire import JsonObject

_SIZE = 32  # bytes of each half of a P-256 signature (RFC 7518, 3.4)
_ECDSA = ec.ECDSA(hashes.SHA256())


def _encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


class TokenKey:
    """A cluster's signing key; without it nobody can make a token that the cluster accepts."""

    def __init__(self, private: ec.EllipticCurvePrivateKey | None = None) -> None:
        self._private = private or ec.generate_private_key(ec.SECP256R1())
        self._public = self._private.public_key()
        der = self._public.public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        self.id = _encoded(hashlib.sha256(der).digest())

    def sign(self, claims: JsonObject) -> str:
        header = msgspec.json.encode({"alg": "ES256", "kid": self.id})
        signed = f"{_encoded(header)}.{_encoded(msgspec.json.encode(claims))}"
        r, s = decode_dss_signature(self._private.sign(signed.encode(), _ECDSA))
        signature = r.to_bytes(_SIZE, "big") + s.to_bytes(_SIZE, "big")
        return f"{signed}.{_encoded(signature)}"

    def claims(self, token: str) -> JsonObject | None:
        """The claims of a token that this key has signed; nothing for every other text."""
        signed, _, signature = token.rpartition(".")
        try:
            raw = _decoded(signature)
            halves = (int.from_bytes(raw[:_SIZE], "big"), int.from_bytes(raw[_SIZE:], "big"))
            self._public.verify(encode_dss_signature(*halves), signed.encode(), _ECDSA)
        except (ValueError, InvalidSignature):
            return None
        # Only now, when the text is known to be our own, is anything in it believed or parsed.
        claims: JsonObject = msgspec.json.decode(_decoded(signed.partition(".")[2]))
        return claims
