"""The tutorial, word for word: every command of docs/tutorial.md, typed beside real clusters.

What was seen is kept in docs/tutorial-transcript.md; a run that sees something else fails, and
``--update-golden`` keeps what it saw.
"""

import re
import time
from collections.abc import Iterator
from difflib import unified_diff
from itertools import groupby
from pathlib import Path

import pytest

from lab.stage import PATIENCE, Ran, Stage
from tests.e2e.lab.transcript import Step, agrees, masked, steps

pytestmark = pytest.mark.e2e

DOCS = Path(__file__).parents[3] / "docs"
TRANSCRIPT = DOCS / "tutorial-transcript.md"
HEAD = (
    "# The tutorial, as it was seen\n\n"
    "Every command of the [tutorial](tutorial.md), typed beside two real clusters (Kubernetes "
    "{version}, `make lab`) in place of those of its first chapter, and what was printed. "
    "The run that wrote this page is a test, `make stories`: it fails when something else is "
    "seen.\n"
)
CLUSTERS = "1. "  # the chapter that makes clusters with Docker; the lab has made them already
# What only looks may be typed again until the clusters have caught up with what was typed before.
LOOKS = re.compile(
    r"^kubectl .*\b(get|exec|run \w+ --rm)\b|^isthmus .*\b(stat|services|why|check)\b"
)
WARNS = re.compile("^‼", re.M)  # of something that is still to come: a proxy has two minutes for it
QUIET = 4.0  # seconds without a change after which a look counts as settled


@pytest.fixture(scope="module")
def tidy(bare: Stage) -> Iterator[Stage]:
    yield bare
    bare.shell("kubectl --context west delete statefulset/nginx-set service/nginx-svc")
    bare.shell("kubectl --context east delete pod/curl serviceaccount/curl")
    bare.shell("rm -rf anchor")


def typed(stage: Stage, step: Step) -> Ran:
    """Type a step; look again where the page promises something that is still to come."""
    looks = LOOKS.match(step.command) is not None
    deadline = time.monotonic() + 2 * PATIENCE
    ran, since = stage.shell(step.command), time.monotonic()
    while looks and time.monotonic() < deadline:
        settled = bool(step.shown) or time.monotonic() - since > QUIET
        if is_as_told(step, ran) and settled and not WARNS.search(ran.output):
            break
        before, ran = ran, stage.shell(step.command)
        if masked(ran.output) != masked(before.output):
            since = time.monotonic()
    assert is_as_told(step, ran), (
        f"{step.section}: the page shows\n"
        + "\n".join(step.shown)
        + f"\nseen was\n$ {ran.command}\n{ran.all}(exit code {ran.code})"
    )
    return ran


def is_as_told(step: Step, ran: Ran) -> bool:
    """Whether a step went as the page tells; it may well show how something is refused."""
    return agrees(step.shown, ran.output) and (ran.code == 0 or bool(step.shown))


def page(seen: list[tuple[Step, Ran]], version: str) -> str:
    parts = [HEAD.format(version=version)]
    for section, group in groupby(seen, key=lambda pair: pair[0].section):
        lines = [f"$ {ran.command}\n{ran.output.rstrip()}".rstrip() for _, ran in group]
        parts.append("\n".join([f"## {section}\n\n```console", *lines, "```\n"]))
    return "\n".join(parts)


def test_the_tutorial_is_true(tidy: Stage, request: pytest.FixtureRequest) -> None:
    told = steps((DOCS / "tutorial.md").read_text())
    seen = [(step, typed(tidy, step)) for step in told if not step.section.startswith(CLUSTERS)]
    assert len(seen) > 20, "this is no longer the page that it was"
    version = tidy.read("east", "nodes")["items"][0]["status"]["nodeInfo"]["kubeletVersion"]
    text = page(seen, version)
    if request.config.getoption("--update-golden"):
        TRANSCRIPT.write_text(text)
    kept = masked(TRANSCRIPT.read_text())
    news = "\n".join(unified_diff(kept, masked(text), "kept", "seen", lineterm="", n=1))
    assert not news, f"{news}\nkeep it by --update-golden, if it is as it should be"
