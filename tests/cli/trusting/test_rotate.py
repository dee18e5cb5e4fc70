"""``isthmus trust rotate``: refuses what would cut clusters off, and can be stopped at any time."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from isthmus.cli import main
from isthmus.embedded.cluster import Cluster
from isthmus.embedded.fronts.kubeconfigs import kubeconfig
from isthmus.embedded.fronts.server import serve
from isthmus.kube.client import Client
from isthmus.kube.resources import CONFIG_MAPS
from isthmus.model.names import CONTROLLER, EGRESS, TRUST_ROTATION
from isthmus.model.objects import Key
from isthmus.pki.keys import Pair, chain_pem, fingerprint, key_pem
from tests.apps.clusters import GRANTS, LINKS, Place, link
from tests.apps.rotation.mesh import NEW, OLD, SPACE, Town
from tests.support.waiting import until

pytestmark = pytest.mark.sockets

Printed = pytest.CaptureFixture[str]


@dataclass
class Desk:
    """An operator with two clusters and two anchors."""

    directory: Path
    east: Town
    west: Town

    def command(
        self, verb: str, *options: str, contexts: tuple[str, ...] = ("a", "b")
    ) -> list[str]:
        named = [word for one in contexts for word in ("--context", one)]
        config = str(self.directory / "config")
        return ["trust", "rotate", verb, "--kubeconfig", config, *named, *options]

    async def run(self, verb: str, *options: str, contexts: tuple[str, ...] = ("a", "b")) -> int:
        return await asyncio.to_thread(main.run, self.command(verb, *options, contexts=contexts))

    async def kept(self, town: Town) -> bool:
        found = await town.place.client.list(CONFIG_MAPS)
        return Key(SPACE, TRUST_ROTATION) in {one.metadata.key for one in found.objects}

    def anchor(self, name: str, pair: Pair) -> str:
        folder = self.directory / name
        folder.mkdir()
        (folder / "anchor.crt").write_bytes(chain_pem(pair.certificate))
        (folder / "anchor.key").write_bytes(key_pem(pair.key))
        return str(folder)


@asynccontextmanager
async def desk(directory: Path) -> AsyncIterator[Desk]:
    """East is the context a, west is b; each has a controller that speaks, and an egress."""
    towns = []
    for name in ("east", "west"):
        cluster = Cluster(name)
        town = Town(Place(name, Client(cluster.transport()), cluster))
        await town.furnish(OLD)
        for account in (CONTROLLER, EGRESS):
            await town.add(f"{name}-{account}", account, 0.0)
        towns.append(town)
    east, west = towns
    await east.place.create(LINKS, link("west", via="gateway"))
    await west.place.create(GRANTS, {"metadata": {"name": "e"}, "spec": {"cluster": "east"}})
    async with serve(east.place.cluster) as one, serve(west.place.cluster) as other:
        config = kubeconfig([one.entry(), other.entry()])
        for entry, name in zip(config["contexts"], "ab", strict=True):
            entry["name"] = name
        (directory / "config").write_text(yaml.safe_dump(config))
        yield Desk(directory, east, west)


async def test_every_cluster_of_the_mesh_must_be_named(tmp_path: Path, capsys: Printed) -> None:
    async with desk(tmp_path) as here:
        new = here.anchor("new", NEW)
        assert await here.run("run", "--new", new, contexts=("a",)) == 1
        assert "east is joined with west, which is not named" in capsys.readouterr().err
        assert not await here.kept(here.east)


@pytest.mark.parametrize(
    "verb, options, code, text",
    [
        pytest.param("run", [], 2, "Missing option '--new'", id="no anchor"),
        pytest.param("pause", [], 1, "there is no rotation to pause", id="nothing to pause"),
        pytest.param("roll-back", ["--old", "OLD"], 1, "no rotation to roll back", id="nor back"),
        pytest.param("status", ["--context", "a"], 2, "--context a is named twice", id="twice"),
        pytest.param("status", ["--context", "c"], 1, "there is no context c", id="unknown"),
        pytest.param("status", ["--namespace", "x"], 1, "a: ConfigMap x/isthmus-trust", id="where"),
    ],
)
async def test_what_is_refused(
    tmp_path: Path, capsys: Printed, verb: str, options: list[str], code: int, text: str
) -> None:
    async with desk(tmp_path) as here:
        folder = here.anchor("anchor", OLD)
        given = [folder if one == "OLD" else one for one in options]
        assert await here.run(verb, *given) == code
        assert text in capsys.readouterr().err


async def test_where_there_is_nothing_to_do_it_says_so(tmp_path: Path, capsys: Printed) -> None:
    async with desk(tmp_path) as here:
        assert await here.run("run", "--new", here.anchor("same", OLD)) == 0
        assert capsys.readouterr().out.startswith("nothing to do: ")


async def test_the_status_shows_everybody(tmp_path: Path, capsys: Printed) -> None:
    async with desk(tmp_path) as here:
        assert await here.run("status") == 0
        lines = [line.split() for line in capsys.readouterr().out.splitlines()]
        short = fingerprint(OLD.certificate)[:8]
        assert lines == [
            ["no", "rotation", "is", "going", "on"],
            [],
            ["CLUSTER", "MEMBER", "ROLE", "TRUSTS", "BELOW", "HEARD"],
            ["east", "-", "cluster", short, short, "-"],
            ["east", "east-isthmus-controller", "controller", "?", "?", "never"],
            ["east", "east-isthmus-egress", "egress", "?", "?", "never"],
            ["west", "-", "cluster", short, short, "-"],
            ["west", "west-isthmus-controller", "controller", "?", "?", "never"],
            ["west", "west-isthmus-egress", "egress", "?", "?", "never"],
        ]


async def test_ctrl_c_leaves_it_to_be_seen_paused_and_rolled_back(
    tmp_path: Path, capsys: Printed
) -> None:
    async with desk(tmp_path) as here:
        new, old = here.anchor("new", NEW), here.anchor("old", OLD)
        driver = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            "from isthmus.cli.main import main; main()",
            *here.command("run", "--new", new),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        assert driver.stdout is not None
        said: list[str] = []
        while not said or "waiting" not in said[-1]:
            said.append((await driver.stdout.readline()).decode())
        driver.send_signal(signal.SIGINT)
        _, errors = await driver.communicate()
        assert (driver.returncode, errors.decode()) == (
            3,
            "interrupted: nothing is lost, the same command goes on from here\n",
        )
        assert said[0].endswith("in east, west\n")
        assert [line.split()[1] for line in said[1:3]] == ["east", "west"]

        assert await here.run("status", "-o", "json") == 0
        shown = json.loads(capsys.readouterr().out)
        assert shown["rotation"]["phase"] == "distribute"
        assert [len(one["trusts"]) for one in shown["clusters"]] == [2, 2]

        assert await here.run("pause") == 0
        assert await here.run("status") == 0
        table = capsys.readouterr().out
        assert "phase: distribute, paused" in table
        assert "new+old" in table

        assert await here.run("run", "--new", old) == 1
        assert "has not ended: go on with it" in capsys.readouterr().err

        # Nobody speaks here, so that it would wait for ever: whoever rolls back is waited for, too.
        back = asyncio.create_task(here.run("roll-back", "--old", old))

        async def printed() -> str:
            return capsys.readouterr().out

        await until(printed, lambda text: "waiting" in text)
        assert await here.run("pause") == 0
        assert await back == 3
        everything = "".join(said) + table
        assert key_pem(NEW.key).decode().splitlines()[1] not in everything
