"""Says what of the lab runs: for people as a table, for programs as JSON."""

import json

from isthmus.model.wire import Json
from lab import cgroups, running, wire
from lab.clusters import BRIDGE, CLUSTERS, ROOT, Cluster
from lab.node import boot


def status(form: str) -> int:
    """Print it; the exit code is 0 when something runs and all that runs is well."""
    clusters = {cluster.name: _seen(cluster) for cluster in CLUSTERS if _is_known(cluster)}
    if form == "json":
        print(json.dumps(clusters, indent=2))
    else:
        _table(clusters)
    well = all(
        program["state"] == "ready"
        for seen in clusters.values()
        for program in seen["programs"].values()
    )
    return 0 if clusters and well and all(seen["up"] for seen in clusters.values()) else 1


def remains() -> list[str]:
    """What is there of any lab: processes, devices, control groups, files. Empty after `down`."""
    found = [f"process {pid}" for one in CLUSTERS for pid, _ in boot.processes(one)]
    found += [f"device {name}" for name in map(wire.cable, CLUSTERS) if wire.exists(name)]
    found += [f"device {BRIDGE}"] if wire.exists(BRIDGE) else []
    found += [f"control group {path}" for path in cgroups.left()]
    found += [f"folder {ROOT}"] if ROOT.exists() else []
    return found


def _is_known(cluster: Cluster) -> bool:
    return running.is_up(cluster) or cluster.folder.exists()


def _seen(cluster: Cluster) -> dict[str, Json]:
    return {
        "up": running.is_up(cluster),
        "address": cluster.address,
        "api": cluster.url,
        "domain": cluster.domain,
        "programs": running.programs(cluster),
        "logs": str(cluster.folder / "log"),
    }


def _table(clusters: dict[str, dict[str, Json]]) -> None:
    if not clusters:
        print("nothing runs; `python -m lab up` brings two clusters up")
        for found in remains():
            print(f"  left behind: {found}; `python -m lab down` removes it")
        return
    print(f"{'CLUSTER':9}{'PROGRAM':26}{'STATE':10}STARTS")
    for name, seen in clusters.items():
        if not seen["up"]:
            print(f"{name:9}{'the whole node':26}{'down':10}-")
            continue
        for program, one in seen["programs"].items():
            print(f"{name:9}{program:26}{one['state']:10}{one['starts']}")
    for name, seen in clusters.items():
        print(f"{name}: {seen['api']}, names under {seen['domain']}, logs in {seen['logs']}")
