"""What a controller and its proxies say to each other about certificates, in one place for both."""

import msgspec

PATH = "/v1/sign"
LARGEST_ANSWER = 128 * 1024  # bytes: a chain, and as many anchors as a bundle may have


class Signed(msgspec.Struct, frozen=True, rename="camel"):
    """The answer: the leaf with its issuer, the anchors to trust, and when the leaf ends."""

    chain: str
    anchors: str
    not_after: str


class Denied(msgspec.Struct, frozen=True):
    """The answer of a controller that signs nothing: one sentence."""

    error: str
