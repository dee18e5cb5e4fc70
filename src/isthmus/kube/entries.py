"""What the entries of a kubeconfig mean: checked once, for people's own files and for strangers'.

How a file is read is an argument, because a stranger's kubeconfig may name none.
"""

import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias
from urllib.parse import SplitResult, urlsplit

from isthmus.kube.credentials import StaticToken
from isthmus.kube.document import Field, Place, shown
from isthmus.kube.errors import BadConfig
from isthmus.kube.pem import check_certificates, check_pair

HOST = re.compile(r"[a-z0-9._-]+|[0-9a-f:.]+(%[a-z0-9._-]+)?")
URL = re.compile(r"[!-~]+")  # visible ASCII: what is left out is read differently by each parser
LARGEST = 16 * 1024 * 1024  # bytes of a file; a kubeconfig of thousands of clusters is smaller
ReadFile: TypeAlias = Callable[[Field, str], bytes | None]


def server_url(cluster: Field) -> SplitResult:
    """Return the server's URL, checked, without a slash at its end."""
    text = cluster.text("server")
    if text is None:
        raise cluster.wrong("server", "not set; expected a URL such as https://192.0.2.1:6443")
    place = cluster.place / "server"
    parts = url(text.strip().rstrip("/"), place)
    if "@" in parts.netloc:
        raise place.wrong("the URL must not hold a user name or password")
    return parts


def url(text: str, place: Place) -> SplitResult:
    """Split a URL; whatever stands before an ``@`` is a secret and not shown."""
    example = "expected one such as https://192.0.2.1:6443"
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise place.wrong(f"not a URL, or its port is not a number to 65535; {example}") from None
    if parts.scheme not in ("http", "https"):
        found = f"found {shown(parts.scheme)}" if "://" in text else "found no scheme"
        raise place.wrong(f"expected a URL with https or http, {found}")
    if not HOST.fullmatch(parts.hostname or "") or port == 0 or not URL.fullmatch(text):
        raise place.wrong(f"the URL has no usable host and port; {example}")
    if parts.query or parts.fragment:
        raise place.wrong("the URL must end with its path: no query, no fragment")
    return parts


def authorities(cluster: Field, read_file: ReadFile) -> bytes | None:
    """Return the certificates that vouch for the server; None means the system's own."""
    pem, place = _data_or_file(cluster, "certificate-authority", read_file)
    if pem is not None:
        check_certificates(pem, place)
    return pem


def client_certificate(user: Field, read_file: ReadFile) -> tuple[bytes, bytes] | None:
    """Return the user's certificate and key, which must belong together."""
    certificate, at = _data_or_file(user, "client-certificate", read_file)
    key, key_at = _data_or_file(user, "client-key", read_file)
    if certificate is None and key is None:
        return None
    if key is None:
        raise user.wrong("client-key-data", "not set, but there is a client certificate")
    if certificate is None:
        raise user.wrong("client-certificate-data", "not set, but there is a client key")
    check_pair(certificate, at, key, key_at)
    return certificate, key


def static_token(user: Field) -> StaticToken | None:
    text = user.text("token")
    if text is None:
        return None
    try:
        return StaticToken(text)
    except ValueError:
        raise user.wrong("token", "holds characters that a header cannot carry") from None


def read(path: Path, place: Place) -> bytes:
    """Read a file that ``place`` names."""
    named = place.wrong if place.file == str(path) else _naming(path, place)
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            # A pipe may wait for ever, a device never end, and neither can be read a second time.
            raise named("is not a regular file; pipes and devices are not read, save it to a file")
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except FileNotFoundError:
        raise named("no such file; check the path") from None
    except IsADirectoryError:
        raise named("a directory, not a file; name the file in it") from None
    except PermissionError:
        raise named("this user may not read it; check its owner and mode") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a path"
        raise named(f"cannot be read: {reason}") from None
    if len(content) > LARGEST:
        raise named("larger than 16 MiB; is this the right file?")
    return content


def _naming(path: Path, place: Place) -> Callable[[str], BadConfig]:
    return lambda problem: place.wrong(f"{shown(str(path))}: {problem}")


def _data_or_file(entry: Field, name: str, read_file: ReadFile) -> tuple[bytes | None, Place]:
    data = entry.data(f"{name}-data")
    if data is not None:
        return data, entry.place / f"{name}-data"
    return read_file(entry, name), entry.place / name
