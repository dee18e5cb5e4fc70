"""From options to values: what somebody wants to be installed."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import click
from msgspec.structs import replace

from isthmus.cli.installing import trust
from isthmus.cli.installing.trust import Chosen, Given, Present
from isthmus.cli.trusting.files import read
from isthmus.install.values import Values, parse
from isthmus.model.errors import Permanent


class NotText(Permanent):
    """A file of values that nobody can read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What was typed."""

    cluster_name: str = ""
    anchor: Path | None = None
    trust_file: Path | None = None
    issuer: Path | None = None
    sets: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    ha: bool = False
    namespace: str = ""
    apply: bool = False
    force_conflicts: bool = False

    def __post_init__(self) -> None:
        if self.anchor is not None and (self.trust_file or self.issuer):
            raise click.UsageError("--anchor issues and is trusted: leave the other two out")


@dataclass(frozen=True, slots=True)
class Meant:
    """The values that were chosen, and what was given to trust and to sign with."""

    values: Values
    given: Given

    def beside(self, present: Present, now: datetime) -> tuple[Values, Chosen]:
        """Return everything, decided in view of what the cluster has."""
        chosen = trust.choose(self.given, present, self.values, now)
        return replace(self.values, trust=chosen.trust), chosen


def meant(wish: Wish) -> Meant:
    """Read all that ``wish`` names; raises what is wrong with it."""
    said = {
        **({"clusterName": wish.cluster_name} if wish.cluster_name else {}),
        **({"namespace": wish.namespace} if wish.namespace else {}),
        **({"ha": "true"} if wish.ha else {}),
    }
    sets = (*wish.sets, *(f"{key}={value}" for key, value in said.items()))
    files = {str(path): _text(path) for path in wish.files}
    values = parse(sets, files)
    given = trust.read(wish.anchor, wish.trust_file, wish.issuer, values.cluster_name)
    if given.mesh_domain:
        # The anchor knows its mesh; whoever says another one is told so when it issues.
        values = parse(sets, {"the anchor": f"meshDomain: {given.mesh_domain}", **files})
    return Meant(values, given)


def _text(path: Path) -> str:
    try:
        return read(path).decode()
    except UnicodeDecodeError:
        raise NotText(f"{path}: this is not a text") from None
