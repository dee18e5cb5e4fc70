"""From options to values: what somebody wants to be installed."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import click
from msgspec.structs import replace

from isthmus.cli import handed
from isthmus.cli.installing import trust
from isthmus.cli.installing.trust import Chosen, Given, Present
from isthmus.install.values import Values, draft, parse


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
    reset_values: bool = False
    force_conflicts: bool = False
    timeout: float = 60.0  # seconds

    def __post_init__(self) -> None:
        if self.anchor is not None and (self.trust_file or self.issuer):
            raise click.UsageError("--anchor issues and is trusted: leave the other two out")
        if self.reset_values and not self.apply:
            raise click.UsageError("--reset-values goes with --apply: what is printed is all new")


@dataclass(frozen=True, slots=True)
class Meant:
    """The values that were chosen, and what was given to trust and to sign with."""

    values: Values
    given: Given

    def beside(self, present: Present, now: datetime) -> tuple[Values, Chosen]:
        """Return everything, decided in view of what the cluster has."""
        chosen = trust.choose(self.given, present, self.values, now)
        return replace(self.values, trust=chosen.trust), chosen


@dataclass(frozen=True, slots=True)
class Draft:
    """What was typed, and what stands in the files that it names."""

    wish: Wish
    sets: tuple[str, ...]
    files: Mapping[str, str]

    @property
    def namespace(self) -> str:
        return draft(self.sets, self.files).namespace

    def meant(self, remembered: Mapping[str, str]) -> Meant:
        """Return all of it, laid over what a cluster remembers; raises what is wrong with it."""
        wish, files = self.wish, {**remembered, **self.files}
        values = parse(self.sets, files)
        given = trust.read(wish.anchor, wish.trust_file, wish.issuer, values.cluster_name)
        if given.mesh_domain:
            # The anchor knows its mesh; whoever says another one is told so when it issues.
            mesh = {"the anchor": f"meshDomain: {given.mesh_domain}"}
            values = parse(self.sets, {**mesh, **files})
        return Meant(values, given)


def drafted(wish: Wish) -> Draft:
    """Read the files that ``wish`` names; raises what is wrong with any value of it."""
    said = {
        **({"clusterName": wish.cluster_name} if wish.cluster_name else {}),
        **({"namespace": wish.namespace} if wish.namespace else {}),
        **({"ha": "true"} if wish.ha else {}),
    }
    sets = (*wish.sets, *(f"{key}={value}" for key, value in said.items()))
    return Draft(wish, sets, {str(path): handed.text(str(path)) for path in wish.files})
