"""A transport that plays a script: what each request in turn gets for an answer, and when."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from isthmus.kube.errors import Unreachable
from isthmus.kube.transport import Request
from isthmus.model.errors import IsthmusError
from isthmus.model.wire import Json, JsonObject

# Bytes arrive, seconds pass, an error breaks the body off.
Part: TypeAlias = bytes | float | IsthmusError

JSON = {"content-type": "application/json"}


@dataclass(frozen=True, slots=True)
class Says:
    """An answer; with ``stays`` its body never ends, but nothing more comes."""

    body: tuple[Part, ...] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: JSON)
    stays: bool = False

    async def chunks(self) -> AsyncIterator[bytes]:
        for part in self.body:
            match part:
                case bytes():
                    yield part
                case float():
                    await asyncio.sleep(part)
                case _:
                    raise part
        if self.stays:
            await asyncio.Event().wait()


@dataclass(frozen=True, slots=True)
class Breaks:
    """No answer: an error, after ``after`` seconds."""

    error: IsthmusError = field(default_factory=lambda: Unreachable("connection refused"))
    after: float = 0.0


class Script:
    """Answers requests in the order of the script; once it has run out, with silence."""

    def __init__(self, *answers: Says | Breaks) -> None:
        self.requests: list[Request] = []
        self.times: list[float] = []  # when each of them came
        self.is_closed = False
        self._answers = list(answers)

    @asynccontextmanager
    async def send(self, request: Request) -> AsyncIterator[Says]:
        self.requests.append(request)
        self.times.append(asyncio.get_running_loop().time())
        answer = self._answers.pop(0) if self._answers else Says(stays=True)
        if isinstance(answer, Breaks):
            await asyncio.sleep(answer.after)
            raise answer.error
        yield answer

    async def close(self) -> None:
        self._answers.clear()
        self.is_closed = True

    @property
    def asked(self) -> list[str]:
        """What was asked for, in short: ``list``, ``stream`` or ``watch <version>``."""
        return [_asked(dict(request.query)) for request in self.requests]


def _asked(query: dict[str, str]) -> str:
    if "sendInitialEvents" in query:
        return "stream"
    if "watch" in query:
        return f"watch {query['resourceVersion']}"
    return f"list {query['continue']}" if "continue" in query else "list"


def says(body: Json, status: int = 200, **headers: str) -> Says:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return Says((json.dumps(body).encode(),), status, JSON | given)


def named(name: str, version: int | str, **more: Json) -> JsonObject:
    """A Service in the namespace ``shop``, as a server sends it."""
    metadata = {"name": name, "namespace": "shop", "resourceVersion": str(version)}
    return {"metadata": metadata} | more


def listing(version: int, *items: JsonObject, token: str = "") -> Says:
    metadata = {"resourceVersion": str(version)} | ({"continue": token} if token else {})
    body = {"kind": "ServiceList", "apiVersion": "v1", "metadata": metadata, "items": items}
    return says(body)


def line(kind: str, obj: Json) -> bytes:
    return json.dumps({"type": kind, "object": obj}).encode() + b"\n"


def bookmark(version: int, *, complete: bool = False) -> bytes:
    annotations = {"k8s.io/initial-events-end": "true"} if complete else {}
    metadata = {"resourceVersion": str(version), "annotations": annotations}
    return line("BOOKMARK", {"kind": "Service", "apiVersion": "v1", "metadata": metadata})


def stream(*parts: Part, stays: bool = True) -> Says:
    return Says(parts, stays=stays)


def refusal(code: int, reason: str, message: str = "", **details: Json) -> JsonObject:
    """A Status, for a body or an ERROR event."""
    body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    return body | {"code": code, "reason": reason, "message": message, "details": details}


def refuses(code: int, reason: str, message: str = "", **headers: str) -> Says:
    return says(refusal(code, reason, message), code, **headers)
