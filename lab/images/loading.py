"""Hands images to the containerd of a node."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from lab.clusters import Cluster
from lab.images import archive
from lab.images.layers import made
from lab.images.recipes import BY_NAME, Image
from lab.node.boot import NodeTrouble, entering

IMPORT = ("ctr", "--namespace=k8s.io", "images", "import", "--digests", "-")


def load(cluster: Cluster, image: Image, layers: Sequence[Path]) -> bool:
    """Make ``image`` known in ``cluster``; False if it is there already, unchanged."""
    known = cluster.folder / "images.json"
    noted = json.loads(known.read_text()) if known.exists() else {}
    content = archive.identity(image, layers)
    if noted.get(image.name) == content:
        return False
    with _importing(cluster) as into:
        assert into.stdin is not None
        archive.write(image, layers, into.stdin)
        _finish(into, cluster, image.name)
    known.write_text(json.dumps(noted | {image.name: content}))
    return True


def load_all(clusters: Sequence[Cluster]) -> None:
    """Make all images known in ``clusters``; what is missing is built."""
    for image in (recipe() for recipe in BY_NAME.values()):
        layers = made(image.layers)
        for cluster in clusters:
            load(cluster, image, layers)


def load_file(cluster: Cluster, path: Path) -> None:
    """The same for a file that ``docker save`` or another builder wrote."""
    with path.open("rb") as file, _importing(cluster, file) as into:
        _finish(into, cluster, str(path))


def _importing(cluster: Cluster, source: IO[bytes] | None = None) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [*entering(cluster), *IMPORT],
        stdin=source or subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def _finish(into: "subprocess.Popen[bytes]", cluster: Cluster, what: str) -> None:
    said, _ = into.communicate()
    if into.returncode != 0:
        last = said.decode(errors="replace").strip().splitlines()[-1:]
        raise NodeTrouble(f"{cluster.name}: containerd does not take {what}: {' '.join(last)}")
