"""Certificates and keys in files: read with a limit, written once, readable by their owner only."""

import os
from collections.abc import Mapping
from pathlib import Path

from isthmus.model.errors import Misused, Permanent
from isthmus.pki.keys import LARGEST, Pair, read_pair

CERTIFICATE = "anchor.crt"
KEY = "anchor.key"


class CannotRead(Misused):
    """A file that cannot be read."""


class CannotWrite(Permanent):
    """A file that cannot be written, or must not be overwritten."""


def read(file: Path) -> bytes:
    """Return what is in a file, up to a byte more than anybody here accepts."""
    try:
        with file.open("rb") as opened:
            return opened.read(LARGEST + 1)
    except OSError as error:
        raise CannotRead(f"{file} cannot be read: {error.strerror}") from None


def read_anchor(folder: Path) -> Pair:
    """Return the anchor that ``isthmus trust create`` has put into ``folder``."""
    certificate, key = folder / CERTIFICATE, folder / KEY
    return read_pair(read(certificate), read(key), f"the anchor in {folder}")


def write_new(files: Mapping[Path, bytes]) -> None:
    """Write all of these files, or none; each is new, and its owner's alone."""
    made: list[Path] = []
    try:
        for path, content in files.items():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            made.append(path)
            with open(number, "wb") as opened:
                opened.write(content)
                opened.flush()
                os.fsync(opened.fileno())
    except FileExistsError as error:
        _remove(made)
        raise CannotWrite(f"{error.filename} exists already; nothing was written") from None
    except OSError as error:
        _remove(made)
        where = error.filename or made[-1]
        raise CannotWrite(f"{where} cannot be written: {error.strerror}") from None
    except BaseException:  # Ctrl-C between two files
        _remove(made)
        raise


def _remove(made: list[Path]) -> None:
    for path in made:
        path.unlink(missing_ok=True)
