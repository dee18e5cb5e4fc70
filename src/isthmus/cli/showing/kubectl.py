"""As much of kubectl as the demo types, so that it needs none: the same requests and words."""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

import msgspec
import yaml

from isthmus.cli import render
from isthmus.embedded.mesh.kinds import KINDS, placed
from isthmus.kube import requests
from isthmus.kube.client import Client
from isthmus.kube.requests import Selection
from isthmus.kube.resources import Resource
from isthmus.model.errors import Permanent
from isthmus.model.objects import Key
from isthmus.model.wire import JsonObject

_TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
_NAMED = {name: kind for kind in KINDS.values() for name in (kind.kind.lower(), kind.plural)}


class NotUnderstood(Permanent):
    """This kubectl does not know the command."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise NotUnderstood(f"kubectl: {message}")


def _parser() -> _Parser:
    parser = _Parser(prog="kubectl", add_help=False, allow_abbrev=False)
    parser.add_argument("--context", required=True)
    parser.add_argument("-n", "--namespace", default="default")
    verbs = parser.add_subparsers(dest="verb", required=True)
    get = verbs.add_parser("get")
    get.add_argument("kind", choices=_NAMED)
    apply = verbs.add_parser("apply")
    apply.add_argument("-f", dest="file", required=True)
    apply.add_argument("--server-side", action="store_true")
    create = verbs.add_parser("create")
    create.add_argument("kind", choices=["configmap"])
    create.add_argument("name")
    create.add_argument("--from-file", required=True)
    label = verbs.add_parser("label")
    scale = verbs.add_parser("scale")
    for one in (label, scale):
        one.add_argument("kind", choices=_NAMED)
        one.add_argument("name")
    label.add_argument("label")
    scale.add_argument("--replicas", type=int, required=True)
    return parser


_PARSER = _parser()


@dataclass(frozen=True, slots=True)
class Kubectl:
    """``clients`` are those of the contexts; files are found in ``folder``."""

    clients: Mapping[str, Client]
    folder: Path

    async def run(self, words: list[str], stdin: str = "") -> str:
        """Do what the words after ``kubectl`` say, and return what it would print."""
        asked = _PARSER.parse_args(words)
        client = self.clients[asked.context]
        match asked.verb:
            case "get":
                return await _get(client, _NAMED[asked.kind], asked.namespace)
            case "apply":
                text = stdin if asked.file == "-" else self._read(asked.file)
                objects = [one for one in yaml.safe_load_all(text) if one]
                return await _apply(client, objects, asked.namespace, asked.server_side)
            case "create":
                key, _, file = asked.from_file.partition("=")
                made = {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "metadata": {"name": asked.name},
                    "data": {key: self._read(file)},
                }
                return await _apply(client, [made], asked.namespace, False)
            case "label":
                name, _, value = asked.label.partition("=")
                labels = {name.removesuffix("-"): value or None}
                patch, done = {"metadata": {"labels": labels}}, "labeled" if value else "unlabeled"
                return await _patch(client, asked, patch, done)
            case _:
                return await _patch(client, asked, {"spec": {"replicas": asked.replicas}}, "scaled")

    def _read(self, file: str) -> str:
        return (self.folder / file).read_text()


async def _get(client: Client, kind: Resource[JsonObject], namespace: str) -> str:
    call = requests.list_page(kind, Selection(namespace=namespace if kind.namespaced else ""))
    asked = replace(call, request=replace(call.request, headers=_TABLE))
    answer = await client.exchange.fetch(asked, client.limits.page_bytes)
    table: JsonObject = msgspec.json.decode(answer)
    if not table["rows"]:
        where = f" in {namespace} namespace." if kind.namespaced else ""
        return f"No resources found{where}"
    return render.table(table)


async def _apply(
    client: Client, objects: list[JsonObject], namespace: str, server_side: bool
) -> str:
    lines: list[str] = []
    for obj in objects:
        kind, whole = placed(obj, namespace)
        if server_side:
            await client.apply(kind, whole)
        else:
            await client.create(kind, whole)
        done = "serverside-applied" if server_side else "created"
        lines.append(f"{_shown(kind, whole['metadata']['name'])} {done}")
    return "\n".join(lines)


async def _patch(client: Client, asked: argparse.Namespace, patch: JsonObject, done: str) -> str:
    kind = _NAMED[asked.kind]
    await client.merge_patch(kind, Key(asked.namespace, asked.name), patch)
    return f"{_shown(kind, asked.name)} {done}"


def _shown(kind: Resource[JsonObject], name: str) -> str:
    group = f".{kind.group}" if kind.group else ""
    return f"{kind.kind.lower()}{group}/{name}"
