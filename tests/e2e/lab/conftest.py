"""Brings the lab up once for all stories, and says what was there when one of them failed."""

import os
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace

import pytest

from lab import objects, running
from lab.clusters import EAST, NORTH, ROOT, WEST, Cluster
from lab.images.loading import load_all
from lab.showing import remains
from lab.stage import BOTH, Stage, until
from tests.e2e.lab.diagnosis import diagnosis
from tests.e2e.lab.load import Load, calling

KEEP = "ISTHMUS_LAB_KEEP"  # set it to find the lab as a story left it, and to start from there
NO_ROOT = "the stories on real clusters need root: try `sudo make stories`"
CLUSTERS = (EAST, WEST)

_stage = pytest.StashKey[Stage]()
_told = pytest.StashKey[set[str]]()


@pytest.fixture(scope="session")
def stage(request: pytest.FixtureRequest) -> Iterator[Stage]:
    """Two real clusters that know our images, and a shell beside them."""
    if os.geteuid() != 0:
        # A machine that checks changes has to run them: there, nothing is left out in silence.
        assert not os.environ.get("CI"), NO_ROOT
        pytest.skip(NO_ROOT)
    keep = bool(os.environ.get(KEEP))
    if not keep:
        running.down()
    _ready(CLUSTERS)
    # In the lab's own folder: the trust anchor of a lab that is kept has to be kept, too.
    found = Stage(ROOT / "stage", CLUSTERS)
    found.folder.mkdir(exist_ok=True)
    request.config.stash[_stage] = found
    yield found
    if not keep:
        running.down()
        assert remains() == []


@pytest.fixture(scope="module")
def bare(stage: Stage) -> Stage:
    """Both clusters without Isthmus, whatever the story before left."""
    for context in BOTH:
        crds = stage.names(context, "customresourcedefinitions")
        if "links.isthmus.dev" in crds:
            for link in stage.names(context, "links"):
                stage.isthmus(context, "unlink", link, "--apply")
            stage.kubectl(context, "delete", "grants", "--all")
        stage.isthmus(context, "uninstall", "--apply")
    for context in BOTH:
        stage.kubectl(context, "wait", "--for=delete", "namespace/isthmus", "--timeout=120s")
    stage.run("rm", "-rf", "anchor")
    return stage


@pytest.fixture(scope="module")
def joined(stage: Stage) -> Stage:
    """Isthmus in both clusters, by its own commands, and east importing what west exports."""
    for context in BOTH:
        stage.install(context)
    stage.connect("east", "west")
    for context in BOTH:
        stage.isthmus(context, "check", "--wait", "300")
    return stage


@pytest.fixture(scope="module")
def three(joined: Stage, request: pytest.FixtureRequest) -> Iterator[Stage]:
    """A third cluster, north, beside the two; it goes with the stories that need it."""
    _ready((NORTH,))
    found = replace(joined, clusters=(*joined.clusters, NORTH))
    request.config.stash[_stage] = found
    found.install("north")
    yield found
    request.config.stash[_stage] = joined
    running.down((NORTH,))
    assert not [left for left in remains() if "north" in left]


@pytest.fixture(scope="module")
def web(joined: Stage) -> Iterator[Stage]:
    """Something in west that everybody calls."""
    joined.apply("west", objects.service("web"), objects.deployment("web", 2))
    joined.kubectl("west", "rollout", "status", "deployment/web", "--timeout=120s")
    until(lambda: joined.names("east", "services"), lambda found: "web-west" in found)
    yield joined
    joined.kubectl("west", "delete", "deployment/web", "service/web")


@pytest.fixture
def calls(web: Stage) -> Iterator[Load]:
    """Calls of it from east, without a pause."""
    with calling(web, "http://web-west") as begun:
        yield begun


def _ready(clusters: Sequence[Cluster]) -> None:
    """Bring clusters up, and let them know all images."""
    running.up(clusters)
    load_all(clusters)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    stage = item.config.stash.get(_stage, None)
    if report.failed and stage is not None and report.when in ("setup", "call"):
        # What is wrong with a stage is wrong for all who stand on it: once is enough.
        told = item.config.stash.setdefault(_told, set())
        where = item.nodeid if report.when == "call" else f"setup of {item.path}"
        if where not in told:
            report.sections.append(("the clusters", "\n".join(diagnosis(stage))))
        told.add(where)
    return report
