"""What a controller and its proxies say to each other about certificates, in one place for both."""

import msgspec

PATH = "/v1/sign"
USING_PATH = "/v1/using"
LARGEST_ANSWER = 128 * 1024  # bytes: a chain, and as many anchors as a bundle may have


class Signed(msgspec.Struct, frozen=True, rename="camel"):
    """The answer: the leaf with its issuer, the anchors to trust, and when the leaf ends."""

    chain: str
    anchors: str
    not_after: str


class Denied(msgspec.Struct, frozen=True):
    """The answer of a controller that signs nothing: one sentence."""

    error: str


class Using(msgspec.Struct, frozen=True):
    """What a proxy uses: the issuer that goes with its certificate, in PEM, and whom it trusts."""

    name: str
    issuer: str
    anchors: tuple[str, ...]  # fingerprints


class Current(msgspec.Struct, frozen=True):
    """The answer: what the controller uses by now, as fingerprints."""

    issuer: str
    anchors: tuple[str, ...]
