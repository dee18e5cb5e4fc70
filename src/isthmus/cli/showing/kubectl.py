"""As much of kubectl as the demo types, so that it needs none: the same requests and words."""

import argparse
import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import msgspec
import yaml
from msgspec.structs import replace

from isthmus.cli import render
from isthmus.cli.applying import shown
from isthmus.embedded.api.executing import Execution, Output
from isthmus.embedded.cluster import Cluster
from isthmus.kube import requests
from isthmus.kube.client import Client
from isthmus.kube.errors import NotFound
from isthmus.kube.plain import KINDS
from isthmus.kube.requests import Selection
from isthmus.kube.resources import Resource
from isthmus.model.errors import Permanent
from isthmus.model.objects import Key
from isthmus.model.times import seconds
from isthmus.model.wire import JsonObject

_TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
GLANCE = 0.1  # seconds between two looks at what is waited for
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
    run = verbs.add_parser("exec")
    run.add_argument("name")
    label = verbs.add_parser("label")
    scale = verbs.add_parser("scale")
    for one in (label, scale):
        one.add_argument("kind", choices=_NAMED)
        one.add_argument("name")
    wait = verbs.add_parser("wait")
    wait.add_argument("target")
    wait.add_argument("--for", dest="wanted", required=True)
    wait.add_argument("--timeout", type=seconds, default="30s")
    label.add_argument("label")
    scale.add_argument("--replicas", type=int, required=True)
    return parser


_PARSER = _parser()


@dataclass(frozen=True, slots=True)
class Kubectl:
    """``clusters`` are those of the contexts; files are found in ``folder``."""

    clusters: Mapping[str, Cluster]
    folder: Path

    async def run(self, words: list[str], stdin: str = "") -> Output:
        """Do what the words after ``kubectl`` say, and return what it would print."""
        end = words.index("--") if "--" in words else len(words)
        asked = _PARSER.parse_args(words[:end])
        cluster = self.clusters[asked.context]
        client = Client(cluster.transport())
        match asked.verb:
            case "exec":
                return await _executed(cluster, Key(asked.namespace, asked.name), words[end + 1 :])
            case "wait":
                return await _waited(client, asked)
        return Output(await self._said(client, asked, stdin) + "\n")

    async def _said(self, client: Client, asked: argparse.Namespace, stdin: str) -> str:
        match asked.verb:
            case "get":
                return await _get(client, _NAMED[asked.kind], asked.namespace)
            case "apply":
                text = stdin if asked.file == "-" else (self.folder / asked.file).read_text()
                objects = [one for one in yaml.safe_load_all(text) if one]
                return await _apply(client, objects, asked.namespace)
            case "label":
                name, _, value = asked.label.partition("=")
                labels = {name.removesuffix("-"): value or None}
                patch, done = {"metadata": {"labels": labels}}, "labeled" if value else "unlabeled"
                return await _patch(client, asked, patch, done)
            case _:
                return await _patch(client, asked, {"spec": {"replicas": asked.replicas}}, "scaled")


async def _executed(cluster: Cluster, pod: Key, command: list[str]) -> Output:
    if cluster.execute is None:
        raise NotUnderstood(f"kubectl: no machine runs the pods of {cluster.name}")
    done = await cluster.execute(Execution(pod, tuple(command)))
    told = f"command terminated with exit code {done.code}\n" if done.code else ""
    return Output(code=done.code, out=done.out, err=done.err + told)


async def _waited(client: Client, asked: argparse.Namespace) -> Output:
    """Wait until an object exists, or has a condition: ``create``, ``condition=Ready=False``."""
    named, _, name = asked.target.partition("/")
    kind, (_, *said) = _NAMED[named], asked.wanted.split("=")
    clock = asyncio.get_running_loop().time
    deadline = clock() + asked.timeout
    while clock() < deadline:
        if await _holds(client, kind, Key(asked.namespace, name), said):
            return Output(f"{shown(kind, name)} condition met\n")
        await asyncio.sleep(GLANCE)
    where = f" on {kind.plural}/{name}" if said else ""
    return Output(err=f"error: timed out waiting for the condition{where}\n", code=1)


async def _holds(
    client: Client, kind: Resource[JsonObject], key: Key, condition: list[str]
) -> bool:
    """Whether an object exists, and what it says about a condition, if one is named."""
    try:
        found = await client.get(kind, key)
    except NotFound:
        return False
    name, value = ([*condition, "True"])[:2] if condition else ("", "")
    said = found.get("status", {}).get("conditions") or ()
    return not name or any(one["type"] == name and one["status"] == value for one in said)


async def _get(client: Client, kind: Resource[JsonObject], namespace: str) -> str:
    call = requests.list_page(kind, Selection(namespace=namespace if kind.namespaced else ""))
    asked = replace(call, request=replace(call.request, headers=_TABLE))
    answer = await client.exchange.fetch(asked, client.limits.page_bytes)
    table: JsonObject = msgspec.json.decode(answer)
    if not table["rows"]:
        where = f" in {namespace} namespace." if kind.namespaced else ""
        return f"No resources found{where}"
    return render.table(table)


async def _apply(client: Client, objects: list[JsonObject], namespace: str) -> str:
    lines: list[str] = []
    for obj in objects:
        kind, metadata = KINDS[obj["kind"]], obj["metadata"]
        if kind.namespaced:
            metadata = {"namespace": namespace, **metadata}
        await client.create(kind, {**obj, "metadata": metadata})
        lines.append(f"{shown(kind, metadata['name'])} created")
    return "\n".join(lines)


async def _patch(client: Client, asked: argparse.Namespace, patch: JsonObject, done: str) -> str:
    kind = _NAMED[asked.kind]
    await client.merge_patch(kind, Key(asked.namespace, asked.name), patch)
    return f"{shown(kind, asked.name)} {done}"
