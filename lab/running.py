"""The lab as a whole: up, down, and what there is between."""

import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from isthmus.model.errors import Transient
from isthmus.model.wire import Json
from lab import cgroups, wire
from lab.build import build
from lab.claims import claim
from lab.clusters import CLUSTERS, KUBECONFIG, PROGRAMS, ROOT, Cluster
from lab.images import recipes
from lab.images.layers import made
from lab.images.loading import load
from lab.node import boot
from lab.node.addons import addons
from lab.node.papers import ADMIN, prepare
from lab.node.settings import FIXED_PLACES, Places, files
from lab.packages import install, require_root
from lab.papers import write
from lab.versions import KUBECTL, WITH_NODES

PATIENCE = 180.0  # seconds for a cluster to be ready; a busy machine needs many of them
TRIES = 5  # starts of one program after which nobody believes in the next one


class LabTrouble(Transient):
    """The lab is not what it should be; the text says which part, and where to read on."""


def up(clusters: Sequence[Cluster]) -> None:
    """Bring ``clusters`` up, as far as they are not up already; return when pods can run."""
    require_root()
    install()
    build(WITH_NODES)
    images = [(image, made(image.layers)) for image in recipes.system()]
    with _alone():
        started = time.monotonic()
        wire.lay()
        new = [cluster for cluster in clusters if boot.first_process(cluster) is None]
        for cluster in new:
            _lay_out(cluster)
            boot.boot(cluster)
        _write_kubeconfig()
        _offer_kubectl()
        for cluster in clusters:
            _wait(cluster, "programs", _programs_are_ready)
            for image, layers in images:
                load(cluster, image, layers)
            kubectl(cluster, "apply", "--server-side", "-f-", given=_addons(cluster))
        for cluster in clusters:
            _wait(cluster, "node", _node_is_ready)
            _wait(cluster, "CoreDNS", _dns_is_ready)
            print(f"{cluster.name}: ready after {time.monotonic() - started:.0f} s", flush=True)


def down(clusters: Sequence[Cluster] = CLUSTERS) -> None:
    """End clusters, however far they came, and remove all that they left."""
    require_root()
    with _alone():
        for cluster in clusters:
            boot.halt(cluster)
            shutil.rmtree(cluster.folder, ignore_errors=True)
        if any(is_up(cluster) for cluster in CLUSTERS):
            _write_kubeconfig()
            return
        wire.remove()
        cgroups.remove()
        shutil.rmtree(ROOT, ignore_errors=True)
        for place in FIXED_PLACES:
            with suppress(OSError):  # another program's, or not there
                place.rmdir()


def reboot(cluster: Cluster) -> None:
    """A power cut, and power again: all processes die at once, what is on disk stays."""
    if not Places(cluster.folder).papers.exists():
        raise LabTrouble(f"{cluster.name}: the node never ran; `python -m lab up` starts it")
    boot.halt(cluster)
    boot.boot(cluster)
    _wait(cluster, "programs", _programs_are_ready)


def hold(cluster: Cluster, program: str) -> None:
    """Kill one program of the node and keep it down until it is released."""
    if program not in programs(cluster):
        known = ", ".join(programs(cluster)) or "nothing, since it is down"
        raise LabTrouble(f"{cluster.name}: no program {program}; it runs {known}")
    (Places(cluster.folder).held / program).touch()
    _wait(cluster, program, lambda one: programs(one)[program]["state"] == "held")


def release(cluster: Cluster, program: str) -> None:
    (Places(cluster.folder).held / program).unlink(missing_ok=True)
    _wait(cluster, program, lambda one: programs(one)[program]["state"] == "ready")


def programs(cluster: Cluster) -> Json:
    """What the node says of its programs; empty before it has said anything."""
    try:
        return json.loads(Places(cluster.folder).status.read_text())
    except FileNotFoundError:
        return {}


def is_up(cluster: Cluster) -> bool:
    return boot.first_process(cluster) is not None


def those_up() -> list[Cluster]:
    found = [cluster for cluster in CLUSTERS if is_up(cluster)]
    if not found:
        raise LabTrouble("no cluster is up; `python -m lab up` brings two up")
    return found


def kubectl(cluster: Cluster, *arguments: str, given: str | None = None) -> str:
    """Run kubectl as the cluster's administrator; return what it prints."""
    command = [str(KUBECTL.path), f"--kubeconfig={KUBECONFIG}", f"--context={cluster.name}"]
    done = subprocess.run(
        [*command, *arguments], input=given, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise LabTrouble(f"{cluster.name}: kubectl {arguments[0]}: {done.stderr.strip()}")
    return done.stdout


@contextmanager
def _alone() -> Iterator[None]:
    """Two who bring the lab up or down at once would see each other's halves."""
    while (held := claim("nodes")) is None:
        print("another `lab` is at work: waiting for it", flush=True)
        time.sleep(2.0)
    with held:
        yield


def _lay_out(cluster: Cluster) -> None:
    """Write all that the node reads; a folder that is there is a dead node's, and goes."""
    shutil.rmtree(cluster.folder, ignore_errors=True)
    ROOT.mkdir(mode=0o755, exist_ok=True)
    places = Places(cluster.folder)
    for folder in (places.folder, places.papers, places.settings, places.logs, places.held):
        folder.mkdir(mode=0o700)
    prepare(cluster, places.papers)
    for path, text in files(cluster).items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


def _write_kubeconfig() -> None:
    """One kubeconfig with a context for each cluster that is up."""
    paths = [Places(cluster.folder).kubeconfig(ADMIN) for cluster in CLUSTERS]
    parts = [json.loads(path.read_text()) for path in paths if path.exists()]
    merged = parts[0] | {
        kind: [entry for part in parts for entry in part[kind]]
        for kind in ("clusters", "users", "contexts")
    }
    write(KUBECONFIG, json.dumps(merged, indent=2).encode())


def _offer_kubectl() -> None:
    PROGRAMS.mkdir(exist_ok=True)
    link = PROGRAMS / "kubectl"
    link.unlink(missing_ok=True)
    link.symlink_to(KUBECTL.path)


def _addons(cluster: Cluster) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": addons(cluster)})


def _wait(cluster: Cluster, what: str, ready: Callable[[Cluster], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    next_sign = time.monotonic() + 10.0
    while not ready(cluster):
        if not is_up(cluster):
            raise LabTrouble(f"{cluster.name}: the node ended; read {_log(cluster, 'node')}")
        if time.monotonic() > deadline:
            raise LabTrouble(
                f"{cluster.name}: {what} not ready after {PATIENCE:.0f} s; "
                f"see `python -m lab status` and the logs in {Places(cluster.folder).logs}"
            )
        if time.monotonic() > next_sign:
            print(f"{cluster.name}: waiting for {what}", flush=True)
            next_sign += 10.0
        time.sleep(0.2)


def _programs_are_ready(cluster: Cluster) -> bool:
    seen = programs(cluster)
    for name, program in seen.items():
        if program["starts"] > TRIES:
            raise LabTrouble(f"{cluster.name}: {name} ends again and again; {_end(cluster, name)}")
    return bool(seen) and all(program["state"] == "ready" for program in seen.values())


def _node_is_ready(cluster: Cluster) -> bool:
    with suppress(LabTrouble):
        node = json.loads(kubectl(cluster, "get", "node", cluster.name, "-o", "json"))
        return any(
            condition["type"] == "Ready" and condition["status"] == "True"
            for condition in node["status"]["conditions"]
        )
    return False


def _dns_is_ready(cluster: Cluster) -> bool:
    said = kubectl(cluster, "get", "deployment", "coredns", "--namespace=kube-system", "-o", "json")
    return bool(json.loads(said)["status"].get("availableReplicas"))


def _log(cluster: Cluster, program: str) -> Path:
    return Places(cluster.folder).logs / f"{program}.log"


def _end(cluster: Cluster, program: str) -> str:
    lines = _log(cluster, program).read_text(errors="replace").splitlines()
    return "\n".join(["its log ends:", *lines[-15:]])
