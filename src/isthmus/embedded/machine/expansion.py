"""What a container's words mean, once its pod's address, variables and mounts are known: pure."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from isthmus.embedded.machine.objects import Container, Pod

_REFERENCE = re.compile(r"\$\$|\$\(([-._A-Za-z0-9]+)\)")
_SUBSCRIPT = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")


def field(pod: Pod, address: str, path: str) -> str:
    """The downward API: what a pod may know of itself; nothing where it has no such field."""
    metadata = pod.metadata
    chosen = _SUBSCRIPT.fullmatch(path)
    if chosen:
        found = metadata.labels if chosen[1] == "labels" else metadata.annotations
        return found.get(chosen[2], "")
    return {
        "metadata.name": metadata.name,
        "metadata.namespace": metadata.namespace,
        "metadata.uid": metadata.uid,
        "spec.nodeName": pod.spec.node_name,
        "spec.serviceAccountName": pod.spec.service_account_name,
        "status.podIP": address,
        "status.podIPs": address,
        "status.hostIP": "127.0.0.1",
    }.get(path, "")


def variables(
    pod: Pod, container: Container, address: str, given: Mapping[str, str]
) -> dict[str, str]:
    """The container's variables on top of those ``given``; each may name those before it."""
    known = dict(given)
    for one in container.env:
        reference = one.value_from.field_ref
        if reference is not None:
            known[one.name] = field(pod, address, reference.field_path)
        else:
            known[one.name] = expanded(one.value, known)
    return known


def expanded(word: str, known: Mapping[str, str]) -> str:
    """``$(NAME)`` stands for a variable, ``$$`` for a dollar; unknown names stay as they are."""

    def meant(found: re.Match[str]) -> str:
        return "$" if found[1] is None else known.get(found[1], found[0])

    return _REFERENCE.sub(meant, word)


def relocated(word: str, mounts: Iterable[tuple[str, Path]]) -> str:
    """The path that a mounted one has on this machine, also behind an ``--option=``."""
    option, equals, path = word.rpartition("=")
    # The longest one counts: a volume may be mounted inside of another one.
    for mounted, real in sorted(mounts, key=lambda one: len(one[0]), reverse=True):
        root = mounted.rstrip("/")
        if path == root or path.startswith(f"{root}/"):
            return f"{option}{equals}{real}{path.removeprefix(root)}"
    return word
