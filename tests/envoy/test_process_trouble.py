"""An Envoy that cannot start or says too much, and callers who have not heard that it ends."""

import asyncio
import logging
import socket
import stat
from pathlib import Path
from random import Random

import pytest

from isthmus.envoy import process
from isthmus.envoy.bootstrap import Proxy
from isthmus.envoy.process import CannotStart, Envoy, Options
from isthmus.runtime.clock import SystemClock
from isthmus.xds import secrets
from isthmus.xds.names import ANCHORS_FILE, OWN_FILE
from tests.envoy.talking import (
    ADDRESS,
    ANCHORS,
    CONTROLLER,
    GATEWAY,
    envoy,
    keep,
    live,
    server,
)
from tests.envoy.test_process import echo, relay, said_back
from tests.support import pki
from tests.support.waiting import eventually, until

pytestmark = [pytest.mark.sockets]


def made(directory: Path, port: int = 0, program: Path | None = None) -> Envoy:
    shown = pki.credentials(GATEWAY)
    keep(directory / OWN_FILE, secrets.own(shown.chain_pem, shown.key_pem))
    keep(directory / ANCHORS_FILE, secrets.anchors(ANCHORS))
    proxy = Proxy(
        name="gateway-0",
        role="gateway",
        cluster="west",
        controller=(ADDRESS, 1),
        controller_identity=str(CONTROLLER),
        metrics=(ADDRESS, port),
    )
    options = Options(directory=directory, concurrency=1, drain=0, program=program)
    return Envoy(proxy, options, SystemClock(), Random(1))


@pytest.mark.real
@pytest.mark.parametrize("shared", [False, True])
async def test_a_port_that_is_taken_is_an_error_that_names_it(tmp_path: Path, shared: bool) -> None:
    """Also where the other one would share it: two proxies at one port would hide a mistake."""
    with socket.socket() as other:
        if shared:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        other.bind((ADDRESS, 0))
        other.listen()
        port = other.getsockname()[1]
        one = made(tmp_path, port)
        with pytest.raises(CannotStart, match=f"{ADDRESS}:{port}.*Address already in use"):
            await one.run(asyncio.Event())
        assert one.restarts == process.ATTEMPTS
        assert one.pid is None


def pretending(directory: Path, script: str) -> Path:
    """A program that stands in for Envoy."""
    path = directory / "pretender"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(stat.S_IRWXU)
    return path


async def test_what_envoy_said_last_is_why_it_cannot_be_started(tmp_path: Path) -> None:
    program = pretending(tmp_path, "echo first; echo no such luck; exit 1")
    with pytest.raises(CannotStart, match=r"^envoy cannot be started: no such luck$"):
        await made(tmp_path, program=program).run(asyncio.Event())


async def started_again_and_again(one: Envoy) -> None:
    stop = asyncio.Event()
    running = asyncio.create_task(one.run(stop))
    await eventually(lambda: one.restarts > process.ATTEMPTS, within=30)
    stop.set()
    await running


async def test_one_that_was_ended_by_a_signal_is_started_again_and_again(tmp_path: Path) -> None:
    program = pretending(tmp_path, "kill -SEGV $$")
    await started_again_and_again(made(tmp_path, program=program))


async def test_one_that_ran_well_before_it_ended_is_started_again_however_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "WELL", 0.0)
    await started_again_and_again(made(tmp_path, program=pretending(tmp_path, "exit 1")))


async def test_a_flood_of_words_is_cut_short_and_said_to_be(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    flood = (
        "i=0; while [ $i -lt 5000 ]; do echo word $i; i=$((i+1)); done; touch end; exec sleep 60"
    )
    one, stop = made(tmp_path, program=pretending(tmp_path, flood)), asyncio.Event()
    with caplog.at_level(logging.WARNING):
        running = asyncio.create_task(one.run(stop))
        await eventually((tmp_path / "end").exists, within=30)
        stop.set()
        await running
    said = [one for one in caplog.records if one.message == "envoy says"]
    unsaid = [one for one in caplog.records if one.message == "envoy has said more than is logged"]
    assert process.TALK.burst <= len(said) < process.TALK.burst + 100
    assert len(said) + sum(vars(one)["lines"] for one in unsaid) == 5000


@pytest.mark.real
async def test_who_has_not_heard_that_a_proxy_ends_is_still_taken_in(tmp_path: Path) -> None:
    """Nobody is connected, so that there is nothing to wait for but those who may still come."""
    ads = server()
    async with echo() as to, ads.listening(ADDRESS, 0) as port:
        ads.publish("gateway", relay(29_021, to))
        stop = asyncio.Event()
        async with envoy(tmp_path, port, stop=stop, drain=30, linger=1) as one:
            await live(one)
            stop.set()
            await until(one.admin.ready, lambda ready: not ready)
            late = await asyncio.open_connection(ADDRESS, 29_021)
            assert await said_back(late)
            late[1].close()
            await late[1].wait_closed()
            await eventually(lambda: one.pid is None)
