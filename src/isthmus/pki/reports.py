"""What members say of themselves while anchors change, as it is written down and read again."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from isthmus.model.errors import Permanent
from isthmus.model.objects import Value
from isthmus.pki.seen import Report


class BadReports(Permanent):
    """Text that is not what a controller writes down."""


class _Said(Value, frozen=True, kw_only=True):
    at: datetime
    trusts: tuple[str, ...] = ()
    chains_to: tuple[str, ...] = ()


def written(reports: Mapping[str, Report]) -> str:
    """Return reports, by member, as JSON; the same ones are always the same text."""
    said = {
        name: _Said(
            at=one.at, trusts=tuple(sorted(one.trusts)), chains_to=tuple(sorted(one.chains_to))
        )
        for name, one in sorted(reports.items())
    }
    return msgspec.json.encode(said).decode()


def read(text: str) -> Mapping[str, Report]:
    """Return the reports that were written; raise :class:`BadReports`."""
    try:
        said = msgspec.json.decode(text, type=dict[str, _Said])
    except msgspec.MsgspecError as error:
        raise BadReports(f"not the reports of a controller: {error}") from None
    return {
        name: Report(one.at, frozenset(one.trusts), frozenset(one.chains_to))
        for name, one in said.items()
    }
