"""``isthmus trust inspect``: certificates in files, as a table or as data. Keys are passed over."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from cryptography import x509

from isthmus.cli import render
from isthmus.cli.trusting import files as trustfiles
from isthmus.embedded.tables.table import age
from isthmus.model.errors import Permanent
from isthmus.model.quoting import one_line
from isthmus.model.times import second_time
from isthmus.model.wire import JsonObject
from isthmus.pki import bundle
from isthmus.pki.bundle import Bundle
from isthmus.pki.describe import Description, describe
from isthmus.pki.keys import without_keys
from isthmus.pki.verify import Untrusted, verify

_LONGEST_CELL = 120
_COLUMNS = ("File", "Role", "Name", "Speaks for", "From", "Until", "Left")


@dataclass(frozen=True, slots=True)
class Item:
    """One certificate of one file, or why the file has none."""

    file: Path
    found: Description | None = None
    problem: str = ""

    @property
    def problems(self) -> tuple[str, ...]:
        own = (self.problem,) if self.problem else ()
        return (*own, *(self.found.problems if self.found else ()))


def look(files: Sequence[Path], anchors: Path | None, now: datetime) -> tuple[Item, ...]:
    """Return all certificates of ``files``; a file that is no good does not hide the others."""
    trusted = bundle.parse(trustfiles.read(anchors)) if anchors else None
    return tuple(item for file in files for item in _items(file, trusted, now))


def problems(items: Sequence[Item]) -> tuple[str, ...]:
    """Return a line for everything that is wrong."""
    return tuple(
        one_line(f"{item.file}: {_role(item)}{problem}", 4 * _LONGEST_CELL)
        for item in items
        for problem in item.problems
    )


def rendered(items: Sequence[Item], output: str, now: datetime) -> str:
    if output != "table":
        return render.document({"certificates": [_document(item) for item in items]}, output)
    shown = [item for item in items if item.found]
    lines = [render.table(_table(shown, now))] if shown else []
    return "\n".join([*lines, *(f"problem: {each}" for each in problems(items))]) + "\n"


def _items(file: Path, trusted: Bundle | None, now: datetime) -> tuple[Item, ...]:
    try:
        certificates = without_keys(trustfiles.read(file), "the file")
    except Permanent as error:
        return (Item(file, problem=str(error)),)
    if not certificates:
        return (Item(file, problem="there is no certificate in it, only a private key"),)
    first, *rest = (Item(file, describe(each, now)) for each in certificates)
    if trusted is not None and first.found and first.found.role == "leaf":
        first = replace(first, problem=_untrusted(certificates, trusted, now))
    return (first, *rest)


def _untrusted(chain: Sequence[x509.Certificate], trusted: Bundle, now: datetime) -> str:
    try:
        verify(chain, trusted, now)
    except Untrusted as error:
        return f"not trusted: {error}"
    return ""


def _role(item: Item) -> str:
    return f"{item.found.role}: " if item.found else ""


def _document(item: Item) -> JsonObject:
    document: JsonObject = {"file": str(item.file)}
    if found := item.found:
        document |= {
            "role": found.role,
            "subject": found.subject,
            "names": list(found.names),
            "constraint": list(found.constraint),
            "fingerprint": found.fingerprint,
            "serial": found.serial,
            "notBefore": second_time(found.not_before),
            "notAfter": second_time(found.not_after),
        }
    return document | {"problems": list(item.problems)}


def _table(items: Sequence[Item], now: datetime) -> JsonObject:
    rows = [{"cells": _cells(str(item.file), item.found, now)} for item in items if item.found]
    return {"columnDefinitions": [{"name": name} for name in _COLUMNS], "rows": rows}


def _cells(file: str, found: Description, now: datetime) -> list[str]:
    left = "expired" if found.not_after <= now else age(found.not_after - now)
    # What a certificate says of itself must not reach the terminal as it is.
    return [
        one_line(cell, _LONGEST_CELL)
        for cell in (
            file,
            found.role,
            ", ".join(found.names) or found.subject,
            ", ".join(found.constraint) or "-",
            second_time(found.not_before),
            second_time(found.not_after),
            left,
        )
    ]
