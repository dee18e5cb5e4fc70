"""Kubeconfigs for tests: one that works, to be broken one field at a time."""

import base64
from pathlib import Path

import yaml

from isthmus.model.wire import Json, JsonObject
from tests.support.certificates import self_signed

CANARY = "canary-s3cr3t"  # stands for every secret; must never show up in a message


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def kubeconfig(cluster: JsonObject | None = None, user: JsonObject | None = None) -> JsonObject:
    """Return a complete kubeconfig, with fields of its cluster and user replaced or added."""
    authority = b64(self_signed("ca").certificate)
    basis: JsonObject = {
        "server": "https://192.0.2.1:6443",
        "certificate-authority-data": authority,
    }
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "west",
        "clusters": [{"name": "west-cluster", "cluster": {**basis, **(cluster or {})}}],
        "users": [{"name": "admin", "user": {"token": CANARY} if user is None else user}],
        "contexts": [{"name": "west", "context": {"cluster": "west-cluster", "user": "admin"}}],
    }


def written(directory: Path, content: Json, name: str = "config") -> Path:
    """Write ``content`` (bytes as they are, anything else as YAML) and return where."""
    path = directory / name
    path.write_bytes(content if isinstance(content, bytes) else yaml.safe_dump(content).encode())
    return path
