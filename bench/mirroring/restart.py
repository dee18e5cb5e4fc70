"""What a new process does where everything is in place already: it should be nothing."""

import re
import time
import urllib.request
from collections import Counter

from bench.kernel import processor_seconds
from bench.mirroring.clusters import server
from bench.mirroring.cold import Trial, patience
from bench.mirroring.controller import controller
from bench.mirroring.figures import Restart
from lab.controlplane import ControlPlane

READS = frozenset({"GET", "LIST", "WATCH"})
COUNTED = re.compile(r"^apiserver_request_total\{(?P<labels>.*)\} (?P<value>\S+)$", re.M)
LABEL = re.compile(r'(\w+)="([^"]*)"')


def restart(trial: Trial, east: ControlPlane, rest: float) -> Restart:
    """Start a controller among its own mirrors; ``rest`` is how many idle seconds are watched."""
    before = requests(east)
    time.sleep(rest)
    elsewhere = _since(before, requests(east))
    before = requests(east)
    with controller(east, trial.folder) as running:
        ready = running.until("ready", running.is_ready, patience(0))
        settled = running.until("settled", running.has_settled, patience(trial.services))
        time.sleep(2)  # a status, if it is to be written, is written a second later
        idle, cpu = requests(east), processor_seconds(running.pid)
        time.sleep(rest)
        after, idle_cpu = requests(east), processor_seconds(running.pid) - cpu
    writes = _since(before, after)
    return Restart(
        ready=ready,
        settled=settled,
        writes={
            f"{verb} {resource}": number
            for (verb, resource), number in sorted(writes.items())
            if verb not in READS and resource != "leases"
        },
        idle=rest,
        idle_requests={
            f"{verb} {resource}": number
            for (verb, resource), number in sorted((_since(idle, after) - elsewhere).items())
        },
        idle_cpu=idle_cpu,
    )


def requests(plane: ControlPlane) -> Counter[tuple[str, str]]:
    """Ask an API server for the requests it has answered, by verb and resource."""
    known = server(plane)
    request = urllib.request.Request(f"{plane.url}/metrics", headers=dict(known.headers))
    with urllib.request.urlopen(request, timeout=30, context=known.trust()) as answer:
        return counted(answer.read().decode())


def counted(metrics: str) -> Counter[tuple[str, str]]:
    """Sum up the requests for resources; what is none (health, metrics) is not counted."""
    found: Counter[tuple[str, str]] = Counter()
    for match in COUNTED.finditer(metrics):
        labels = dict(LABEL.findall(match["labels"]))
        if labels.get("resource"):
            found[labels["verb"], labels["resource"]] += int(float(match["value"]))
    return found


def _since(
    before: Counter[tuple[str, str]], after: Counter[tuple[str, str]]
) -> Counter[tuple[str, str]]:
    return after - before
