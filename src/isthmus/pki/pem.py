"""PEM, read strictly: what is wrong is said in one sentence, and nothing of the text is repeated.

Certificates arrive by copy and paste. Whitespace, CRLF and comments do no harm; anything else that
is not exactly a block is refused here, because TLS libraries skip it silently or fail namelessly.
The text may be a private key that somebody put into the wrong place, hence no message quotes it.
"""

import re
from base64 import b64decode, b64encode
from binascii import Error
from dataclasses import dataclass, field

from isthmus.model.errors import Permanent

CERTIFICATE = "CERTIFICATE"
REQUEST = "CERTIFICATE REQUEST"
KEY = "PRIVATE KEY"  # PKCS #8
EC_KEY = "EC PRIVATE KEY"  # SEC 1, as `openssl ecparam -genkey` writes it

_BEGIN = re.compile(r"-----BEGIN ([A-Z0-9 ]{1,40})-----")
_WIDTH = 64


class BadPem(Permanent):
    """A text that is not the PEM that it should be."""


@dataclass(frozen=True, slots=True)
class Block:
    """One thing between BEGIN and END; what it is, and its bytes."""

    label: str
    line: int  # at which it begins
    der: bytes = field(repr=False)

    @property
    def is_private(self) -> bool:
        return "PRIVATE KEY" in self.label

    def pem(self) -> bytes:
        """Return the block alone, as everybody writes it."""
        body = b64encode(self.der).decode()
        lines = [body[start : start + _WIDTH] for start in range(0, len(body), _WIDTH)]
        return "\n".join(
            [f"-----BEGIN {self.label}-----", *lines, f"-----END {self.label}-----", ""]
        ).encode()


def blocks(given: str | bytes, what: str, most_bytes: int) -> tuple[Block, ...]:
    """Return the blocks of a text, at least one; ``what`` names the text in errors."""
    if len(given) > most_bytes:
        raise BadPem(f"{what} is larger than {most_bytes // 1024} KiB")
    text = _text(given, what)
    found: list[Block] = []
    lines = enumerate((line.strip() for line in text.splitlines()), start=1)
    for number, line in lines:
        if not line or line.startswith("#"):
            continue
        begin = _BEGIN.fullmatch(line)
        if begin is None:
            raise BadPem(f"{what}: line {number} is neither PEM nor a comment{_instead(text)}")
        body: list[str] = []
        for _, inner in lines:
            if inner.startswith("-----"):
                if inner != f"-----END {begin[1]}-----":
                    raise BadPem(f"{what}: the block of line {number} has another end than begin")
                break
            body.append(inner)
        else:
            raise BadPem(f"{what}: the block of line {number} is cut off, it has no END line")
        found.append(Block(begin[1], number, _decoded("".join(body), what, number)))
    if not found:
        raise BadPem(f"{what} is empty")
    return tuple(found)


def only(label: str, block: Block, what: str) -> bytes:
    """Return the bytes of ``block`` if it is a ``label``."""
    if block.label == label:
        return block.der
    if block.is_private:
        raise BadPem(
            f"{what}: line {block.line} begins a private key, which does not belong here; "
            "remove it, and replace the key if others could read it"
        )
    raise BadPem(f"{what}: line {block.line} begins a {block.label}, expected a {label}")


def _text(given: str | bytes, what: str) -> str:
    if isinstance(given, str):
        return given
    if given[:1] == b"\x30" and not given.isascii():
        raise BadPem(f"{what} is DER, not PEM; convert it with `openssl x509 -inform der`")
    # Comments may be in any language; a block is plain ASCII and is checked as such.
    return given.decode("utf-8-sig", errors="replace")


def _instead(text: str) -> str:
    """Tell what the text is where that is a common mistake; never quote it."""
    if text.lstrip()[:4] == "LS0t":
        return "; it looks as if it were encoded in base64 twice"
    return ""


def _decoded(body: str, what: str, line: int) -> bytes:
    try:
        if len(body) % 4:
            raise Error  # b64decode does not mind a lonely "=" after whole groups
        der = b64decode(body, validate=True)
    except (Error, ValueError):
        # Without the cause: its text is harmless, its frames hold the body.
        raise BadPem(f"{what}: the block of line {line} is damaged, it is not base64") from None
    if not der:
        raise BadPem(f"{what}: the block of line {line} is empty")
    return der
