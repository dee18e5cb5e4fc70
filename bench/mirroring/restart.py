"""What a new process does where everything is in place already: it should be nothing."""

import os
import re
import sys
import time
import urllib.request
from collections import Counter
from datetime import UTC, datetime
from typing import TypeAlias

import msgspec

from bench import results
from bench.kernel import processor_seconds
from bench.meter import memory
from bench.mirroring.clusters import server
from bench.mirroring.cold import Trial, patience
from bench.mirroring.controller import controller
from bench.mirroring.figures import Read, Restart
from bench.mirroring.floor import Cost, Job
from bench.trial import run
from lab.controlplane import ControlPlane
from lab.versions import ETCD, KUBERNETES

Counted: TypeAlias = Counter[tuple[str, str]]  # by verb and resource

READS = frozenset({"GET", "LIST", "WATCH"})
COUNTED = re.compile(r"^apiserver_request_total\{(?P<labels>.*)\} (?P<value>\S+)$", re.M)
LABEL = re.compile(r'(\w+)="([^"]*)"')


def floor(west: ControlPlane, east: ControlPlane, trial: Trial) -> Read:
    """Let a bare client read, and hold, what a controller has to know before it is ready."""
    path = trial.folder / "read.json"
    path.touch(mode=0o600)
    path.write_bytes(msgspec.json.encode(Job(east=server(east), west=server(west))))
    command = [sys.executable, "-m", "bench.mirroring.floor", "read", str(path)]
    started = time.monotonic()
    said = run(command, patience=patience(trial.mirrors))
    wall = time.monotonic() - started
    cost = msgspec.json.decode(said, type=Cost)
    return Read(wall=wall, cpu=cost.cpu, kept=cost.kept)


def restart(trial: Trial, east: ControlPlane, rest: float) -> Restart:
    """Start a controller among its own mirrors; ``rest`` is how many idle seconds are watched."""
    load = os.getloadavg()[0]
    before = requests(east)
    time.sleep(rest)
    elsewhere = _since(before, requests(east))
    before = requests(east)
    with controller(east, trial.folder) as running:
        ready = running.until("ready", running.is_ready, patience(0))
        settled = running.until("settled", running.has_settled, patience(trial.mirrors))
        settled_cpu = processor_seconds(running.pid)
        time.sleep(2)  # a status, if it is to be written, is written a second later
        idle, cpu = requests(east), processor_seconds(running.pid)
        time.sleep(rest)
        after, idle_cpu = requests(east), processor_seconds(running.pid) - cpu
        kept = memory("VmRSS", running.pid)
    writes = _since(before, after)
    return Restart(
        mirrors=trial.mirrors,
        date=datetime.now(UTC).date().isoformat(),
        machine=results.machine(KUBERNETES, ETCD),
        load=load,
        ready=ready,
        settled=settled,
        cpu=settled_cpu,
        kept=kept,
        writes={
            f"{verb} {resource}": number
            for (verb, resource), number in sorted(writes.items())
            if verb not in READS and resource != "leases"
        },
        idle=rest,
        idle_requests={
            f"{verb} {resource}": number
            for (verb, resource), number in sorted(beyond(_since(idle, after), elsewhere).items())
        },
        idle_cpu=idle_cpu,
    )


def requests(plane: ControlPlane) -> Counted:
    """Ask an API server for the requests it has answered, by verb and resource."""
    known = server(plane)
    request = urllib.request.Request(f"{plane.url}/metrics", headers=dict(known.headers))
    with urllib.request.urlopen(request, timeout=30, context=known.trust()) as answer:
        return counted(answer.read().decode())


def counted(metrics: str) -> Counted:
    """Sum up the requests for resources; what is none (health, metrics) is not counted."""
    found: Counted = Counter()
    for match in COUNTED.finditer(metrics):
        labels = dict(LABEL.findall(match["labels"]))
        if labels.get("resource"):
            found[labels["verb"], labels["resource"]] += int(float(match["value"]))
    return found


def beyond(found: Counted, elsewhere: Counted) -> Counted:
    """Leave out what others ask for, too, as often as they do.

    They do so periodically, so that one more or less of each falls into any stretch of time.
    """
    return found - elsewhere - Counter(dict.fromkeys(elsewhere, 1))


def _since(before: Counted, after: Counted) -> Counted:
    return after - before
