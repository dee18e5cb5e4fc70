"""Goes to a cluster, and checks on the way that it can be talked to; the first failure ends it."""

import os
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from isthmus.cli.checking.checks import Check
from isthmus.kube import kubeconfig
from isthmus.kube.access import Access
from isthmus.kube.client import Client
from isthmus.kube.codec import decoder
from isthmus.kube.document import Place, parse
from isthmus.kube.entries import read
from isthmus.kube.errors import (
    Forbidden,
    Garbled,
    NotFound,
    Unauthorized,
    UnknownContext,
    Unreachable,
    Untrusted,
)
from isthmus.kube.http import HttpTransport
from isthmus.kube.requests import Call
from isthmus.kube.resources import NAMESPACES, Resource
from isthmus.kube.transport import Request
from isthmus.model.errors import IsthmusError, Permanent
from isthmus.model.objects import Key, Value
from isthmus.model.reviews import User
from isthmus.model.wire import UNREADABLE
from isthmus.runtime.clock import SystemClock

OLDEST = (1, 30)
CONFIG = "kubeconfig"
API = "kubernetes-api"
_ANSWER = 64 * 1024  # bytes of /version that we are ready to read
_NUMBER = re.compile(r"[0-9]{1,9}")


class Version(Value, frozen=True, kw_only=True):
    """What ``/version`` says, as far as we care."""

    major: str
    minor: str
    git_version: str = ""


class Identity(Value, frozen=True, kw_only=True):
    user_info: User = User()


class SelfSubjectReview(Value, frozen=True, kw_only=True):
    status: Identity = Identity()


VERSION = Resource(type=Version, kind="", plural="version", namespaced=False)
WHO_AM_I = Resource(
    type=SelfSubjectReview,
    kind="SelfSubjectReview",
    plural="selfsubjectreviews",
    group="authentication.k8s.io",
    namespaced=False,
)


@dataclass(frozen=True, slots=True)
class Reached:
    """What was checked on the way to a cluster, and the way itself, if there is one."""

    checks: tuple[Check, ...]
    context: str = ""
    client: Client | None = None


@asynccontextmanager
async def reached(file: str | None, context: str | None) -> AsyncIterator[Reached]:
    """Go to the cluster that a context of a kubeconfig means, and check every step."""
    found: list[Check] = []
    async with AsyncExitStack() as stack:
        try:
            access = _configured(file, context, found.append)
            client = await stack.enter_async_context(_client(access))
            await _served(client, access.server.url, found.append)
            end = Reached(tuple(found), access.context, client)
        except _Failed as failure:
            end = Reached((*found, failure.check))
        yield end


class _Failed(Exception):
    """Ends the checks; everything that follows would fail for the same cause."""

    def __init__(self, group: str, name: str, error: IsthmusError, hint: str) -> None:
        super().__init__(name)
        self.check = Check(group=group, name=name, outcome="error", detail=str(error), hint=hint)


def _configured(file: str | None, context: str | None, note: Callable[[Check], None]) -> Access:
    name = "kubeconfig can be read"
    try:
        files = kubeconfig.find(file, os.environ, Path.home())
        for path in files:
            parse(read(path, Place(str(path))), str(path), aliases=True)
    except IsthmusError as error:
        hint = "kubectl reads the same files: kubectl config view shows what it finds"
        raise _Failed(CONFIG, name, error, hint) from error
    note(Check(group=CONFIG, name=name, detail=", ".join(str(path) for path in files)))
    name = "context can be used"
    try:
        access = kubeconfig.load(files, SystemClock(), context=context)
    except UnknownContext as error:
        raise _Failed(CONFIG, name, error, "kubectl config get-contexts lists them") from error
    except IsthmusError as error:
        hint = "correct it in the kubeconfig, or choose another context with --context"
        raise _Failed(CONFIG, name, error, hint) from error
    note(Check(group=CONFIG, name=name, detail=access.context))
    for warning in access.warnings:
        note(Check(group=CONFIG, name="context is safe", outcome="warning", detail=warning))
    return access


@asynccontextmanager
async def _client(access: Access) -> AsyncIterator[Client]:
    try:
        server = await kubeconfig.settled(access)
        client = Client(HttpTransport(server), access.credentials)
    except IsthmusError as error:
        hint = "the user of this context must have a usable credential"
        raise _Failed(CONFIG, "credential can be had", error, hint) from error
    try:
        yield client
    finally:
        await client.close()


async def _served(client: Client, url: str, note: Callable[[Check], None]) -> None:
    version = await _reached(client, url, note)
    await _accepted(client, note)
    if version is not None:
        _new_enough(version, note)
    name = "cluster has an identity"
    try:
        namespace = await client.get(NAMESPACES, Key("", "kube-system"))
    except IsthmusError as error:
        hint = "the user needs to get the namespace kube-system, whose UID identifies the cluster"
        raise _Failed(API, name, error, _hint(error, hint)) from error
    note(Check(group=API, name=name, detail=f"UID {namespace.metadata.uid}"))


async def _reached(client: Client, url: str, note: Callable[[Check], None]) -> Version | None:
    """The server's version, or nothing where it answers but does not know us."""
    name = "API server can be reached"
    request = Request(method="GET", path="/version")
    hint = "try: kubectl get --raw /version"
    call = Call(verb="get", resource=VERSION, where="", request=request)
    version: Version | None = None
    try:
        version = decoder(Version).decode(await client.exchange.fetch(call, _ANSWER))
    except (Unauthorized, Forbidden):
        pass  # An answer all the same; what it means is the next check's business.
    except UNREADABLE as error:
        wrong = Garbled(f"{url}/version: the answer is not that of an API server")
        raise _Failed(API, name, wrong, _hint(wrong, hint)) from error
    except IsthmusError as error:
        raise _Failed(API, name, error, _hint(error, hint)) from error
    note(Check(group=API, name=name, detail=url))
    return version


def _hint(error: IsthmusError, otherwise: str) -> str:
    """Say what to do about a connection that fails, at whichever check; else ``otherwise``."""
    match error:
        case Unreachable():
            return "is the cluster running, and can this machine reach that address?"
        case Untrusted():
            return (
                "compare server, tls-server-name and certificate-authority-data of the kubeconfig "
                "with the cluster's own"
            )
        case Garbled():
            return "something else answers at that address; check the server of the kubeconfig"
        case _:
            return otherwise


async def _accepted(client: Client, note: Callable[[Check], None]) -> None:
    name = "credential is accepted"
    try:
        who = await client.review(WHO_AM_I, SelfSubjectReview())
    except NotFound:
        # A server this old (before 1.28) cannot say; the version check will refuse it.
        note(Check(group=API, name=name))
        return
    except IsthmusError as error:
        hint = "kubectl auth whoami asks the same question"
        if isinstance(error, Unauthorized):
            hint = f"has it expired? {hint}"
        raise _Failed(API, name, error, _hint(error, hint)) from error
    note(Check(group=API, name=name, detail=who.status.user_info.username))


def _new_enough(version: Version, note: Callable[[Check], None]) -> None:
    name = f"Kubernetes is {OLDEST[0]}.{OLDEST[1]} or newer"
    # Some distributions call a minor version "30+".
    numbers = tuple(
        int(found[0]) for text in (version.major, version.minor) if (found := _NUMBER.match(text))
    )
    shown = version.git_version or f"{version.major}.{version.minor}"
    if numbers >= OLDEST:
        note(Check(group=API, name=name, detail=shown))
        return
    too_old = Permanent(f"the server runs {shown}")
    raise _Failed(API, name, too_old, "upgrade the cluster first")
