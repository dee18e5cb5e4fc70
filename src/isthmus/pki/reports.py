"""What members say of themselves while anchors change, as it is written down and read again.

Each replica of a controller writes two texts: what it knows by having told it (under its own name:
itself, and the proxies that it tells), and what proxies say of their own certificate and anchors.
A proxy may be told by one replica and speak to another, so that only both together are its report.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

import msgspec

from isthmus.model.errors import Permanent
from isthmus.model.objects import Value
from isthmus.model.quoting import one_line
from isthmus.model.wire import UNREADABLE
from isthmus.pki.seen import Report

_LONGEST = 200  # characters of why a text cannot be read
OWN = ".own"  # follows a replica's name where it writes what proxies say of themselves


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
    except UNREADABLE as error:
        why = one_line(str(error), _LONGEST)
        raise BadReports(f"not the reports of a controller: {why}") from None
    return {
        name: Report(one.at, frozenset(one.trusts), frozenset(one.chains_to))
        for name, one in said.items()
    }


def pod_of(replica: str) -> str:
    """Return the pod that a replica runs in, by what it calls itself: ``pod`` or ``pod_number``."""
    return replica.partition("_")[0]


@dataclass(frozen=True, slots=True)
class News:
    """All that the replicas of a cluster have written down, by replica and member."""

    told: Mapping[str, Mapping[str, Report]]
    own: Mapping[str, Mapping[str, Report]]

    def of_controller(self, name: str) -> Report | None:
        """Return what a controller says of itself; nobody else speaks for it."""
        said = {replica: found for replica, found in self.told.items() if pod_of(replica) == name}
        return _latest(said, name)

    def of_proxy(self, name: str) -> Report | None:
        """Return what is known of a proxy: nothing, while its two parts do not agree."""
        told, own = _latest(self.told, name), _latest(self.own, name)
        if told is None or own is None or told.trusts != own.trusts:
            return None
        return Report(min(told.at, own.at), told.trusts, told.chains_to | own.chains_to)


def news(data: Mapping[str, str]) -> News:
    """Return what is in the ConfigMap; text that is nobody's report is passed over."""
    found = dict(_readable(data))
    return News(
        {name: said for name, said in found.items() if not name.endswith(OWN)},
        {name: said for name, said in found.items() if name.endswith(OWN)},
    )


def _readable(data: Mapping[str, str]) -> Iterator[tuple[str, Mapping[str, Report]]]:
    for name, text in data.items():
        try:
            yield name, read(text)
        except BadReports:
            continue


def _latest(said: Mapping[str, Mapping[str, Report]], name: str) -> Report | None:
    found = (reports[name] for reports in said.values() if name in reports)
    return max(found, key=lambda one: one.at, default=None)
