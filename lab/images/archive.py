"""Writes an image in the format of ``docker save``, which containerd can import."""

import hashlib
import io
import json
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from lab.images.recipes import Image

ARCHITECTURE = "amd64"


def write(image: Image, layers: Sequence[Path], stream: IO[bytes]) -> None:
    config = json.dumps(configuration(image, [_digest(layer) for layer in layers])).encode()
    config_name = f"{hashlib.sha256(config).hexdigest()}.json"
    names = [f"{layer.stem}/layer.tar" for layer in layers]
    manifest = [{"Config": config_name, "RepoTags": [image.name], "Layers": names}]
    with tarfile.open(fileobj=stream, mode="w|") as archive:
        _add(archive, config_name, config)
        for name, layer in zip(names, layers, strict=True):
            archive.add(layer, arcname=name)
        _add(archive, "manifest.json", json.dumps(manifest).encode())


def identity(image: Image, layers: Sequence[Path]) -> str:
    """What is the same for two images if they are the same; layers are named by their content."""
    described = json.dumps(configuration(image, [layer.stem for layer in layers]))
    return hashlib.sha256(described.encode()).hexdigest()


def configuration(image: Image, digests: Sequence[str]) -> object:
    run: dict[str, object] = {"Entrypoint": list(image.entrypoint), "Cmd": list(image.command)}
    run["Env"] = [f"{name}={value}" for name, value in image.environment]
    if image.user:
        run["User"] = image.user
    return {
        "architecture": ARCHITECTURE,
        "os": "linux",
        "config": run,
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}" for digest in digests]},
        "history": [{"created_by": "lab"} for _ in digests],
    }


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))


def _digest(layer: Path) -> str:
    with layer.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
