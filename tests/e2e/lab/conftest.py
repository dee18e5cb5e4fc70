"""Brings the lab up once for all stories, and says what was there when one of them failed."""

import os
from collections.abc import Generator, Iterator

import pytest

from lab import running
from lab.clusters import EAST, WEST
from lab.images.layers import made
from lab.images.loading import load
from lab.images.recipes import BY_NAME
from lab.showing import remains
from tests.e2e.lab.diagnosis import diagnosis
from tests.e2e.lab.stage import BOTH, Stage

KEEP = "ISTHMUS_LAB_KEEP"  # set it to find the lab as a story left it, and to start from there
NO_ROOT = "the stories on real clusters need root: try `sudo make e2e`"
CLUSTERS = (EAST, WEST)

_stage = pytest.StashKey[Stage]()


@pytest.fixture(scope="session")
def stage(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stage]:
    """Two real clusters that know our images, and a shell beside them."""
    if os.geteuid() != 0:
        # A machine that checks changes has to run them: there, nothing is left out in silence.
        assert not os.environ.get("CI"), NO_ROOT
        pytest.skip(NO_ROOT)
    keep = bool(os.environ.get(KEEP))
    if not keep:
        running.down()
    running.up(CLUSTERS)
    for image in (recipe() for recipe in BY_NAME.values()):
        layers = made(image.layers)
        for cluster in CLUSTERS:
            load(cluster, image, layers)
    found = Stage(tmp_path_factory.mktemp("stage"), CLUSTERS)
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
    return stage


@pytest.fixture(scope="module")
def joined(stage: Stage) -> Stage:
    """Isthmus in both clusters, by its own commands, and east importing what west exports."""
    if not (stage.folder / "anchor").exists():
        stage.run("isthmus", "trust", "create", "--out", "anchor")
    for context in BOTH:
        domain = f"clusterDomain={context}.cluster.local"
        named = ("--cluster-name", context, "--set", domain)
        stage.isthmus(context, "install", *named, "--anchor", "anchor", "--apply")
    connect = ("isthmus", "connect", "--from", "east", "--to", "west", "--timeout", "5m")
    stage.run(*connect, "--set", "enableHeadlessServices=true", timeout=400)
    for context in BOTH:
        stage.isthmus(context, "check", "--wait", "300")
    return stage


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    stage = item.config.stash.get(_stage, None)
    if report.failed and stage is not None and report.when in ("setup", "call"):
        report.sections.append(("both clusters", "\n".join(diagnosis(stage))))
    return report
