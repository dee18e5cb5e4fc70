"""One run: catalogues of several sizes, each followed by a fresh process, in turn."""

import os
import sys
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from bench import results, trial
from bench.catalogue.figures import Catalogue, Followed
from bench.progress import Progress
from bench.trial import Failed
from isthmus.envoy.process import VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    sizes: tuple[int, ...]  # exports
    rounds: int


def run(plan: Plan) -> Catalogue:
    load = os.getloadavg()[0]
    progress = Progress("catalogues followed", len(plan.sizes) * plan.rounds)
    found: list[Followed] = []
    missing: dict[str, str] = {}
    for exports in trial.in_turn(plan.sizes, plan.rounds):
        command = [sys.executable, "-m", "bench.catalogue.following", str(exports)]
        try:
            found.append(msgspec.json.decode(trial.run(command), type=Followed))
        except Failed as error:
            missing[f"{exports:,} exports"] = str(error)
        progress.step(f"{exports} exports")
    found.sort(key=lambda one: one.exports)
    return Catalogue(
        machine=results.machine(),
        date=datetime.now(UTC).date().isoformat(),
        versions={"Envoy": VERSION},
        load=load,
        followed=tuple(found),
        missing=missing,
    )
