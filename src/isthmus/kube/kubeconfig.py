"""The files in which people keep their clusters and credentials, read as kubectl reads them.

Every mistake in them is found here, before a connection is tried, and named with its file and
field. For a kubeconfig that somebody else wrote, see :mod:`isthmus.kube.restricted`.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from isthmus.kube.access import Access
from isthmus.kube.apiserver import ApiServer
from isthmus.kube.credentials import Anonymous, Credentials, FileToken, read_token
from isthmus.kube.document import Field, Place, parse, shown
from isthmus.kube.entries import (
    authorities,
    client_certificate,
    read,
    server_url,
    static_token,
    url,
)
from isthmus.kube.errors import BadConfig, UnknownContext
from isthmus.kube.exec import ExecToken
from isthmus.kube.plugin import plugin
from isthmus.runtime.clock import Clock

IMPERSONATION = ("as", "as-uid", "as-groups", "as-user-extra")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The three entries that a context brings together."""

    name: str
    context: Field
    cluster: Field
    user: Field


def find(explicit: str | None, environment: Mapping[str, str], home: Path) -> tuple[Path, ...]:
    """Return the files to read: the one asked for, those of KUBECONFIG, or ~/.kube/config."""
    if explicit:
        return (Path(explicit),)
    listed = [part for part in environment.get("KUBECONFIG", "").split(os.pathsep) if part]
    if not listed:
        default = home / ".kube" / "config"
        if _is_missing(default):
            raise BadConfig(
                f"{default}: no such file, and KUBECONFIG is not set; "
                "name a kubeconfig with --kubeconfig or KUBECONFIG"
            )
        return (default,)
    # As for kubectl, files of the list that do not exist (yet) are no mistake, unless all are.
    found = tuple(Path(part) for part in listed if not _is_missing(Path(part)))
    if not found:
        named = os.pathsep.join(listed)
        raise BadConfig(f"{shown(named)}: none of the files that KUBECONFIG names exists")
    return found


def load(files: Sequence[Path], clock: Clock, *, context: str | None = None) -> Access:
    """Read ``files`` and return the access that ``context``, or the current one, describes."""
    documents = [parse(read(path, Place(str(path))), str(path), aliases=True) for path in files]
    chosen = choose(documents, context)
    server, warnings = _server(chosen.cluster)
    server = server.presenting(client_certificate(chosen.user, _from_file))
    return Access(
        context=chosen.name,
        server=server,
        credentials=_credentials(chosen, server, clock),
        namespace=chosen.context.text("namespace") or "default",
        warnings=warnings,
    )


def contexts(files: Sequence[Path]) -> tuple[str, ...]:
    """Return the names of all contexts that ``files`` have."""
    documents = [parse(read(path, Place(str(path))), str(path), aliases=True) for path in files]
    return tuple(_merged(documents, "contexts", "context"))


async def settled(access: Access) -> ApiServer:
    """Return where to connect, with the client certificate of the exec plugin if it issues one."""
    if not isinstance(access.credentials, ExecToken):
        return access.server
    return access.server.presenting(await access.credentials.certificate())


def choose(documents: Sequence[Field], wanted: str | None) -> Choice:
    """Pick a context with its cluster and user; the first file that has a name wins it."""
    for document in documents:
        _check_kind(document)
    contexts, clusters, users = (
        _merged(documents, plural, singular)
        for plural, singular in (
            ("contexts", "context"),
            ("clusters", "cluster"),
            ("users", "user"),
        )
    )
    files = Place(os.pathsep.join(document.place.file for document in documents))
    current = next((text for each in documents if (text := each.text("current-context"))), None)
    name = wanted or current
    known = _known(contexts)
    if name is None:
        raise (files / "current-context").wrong(f"not set; choose one with --context: {known}")
    if name not in contexts:
        place = files / "contexts" if wanted else files / "current-context"
        wrong = place.wrong(f"there is no context {shown(name)}; known are: {known}")
        raise UnknownContext(str(wrong))
    context = contexts[name]
    return Choice(
        name=name,
        context=context,
        cluster=_referred(context, "cluster", clusters),
        user=_referred(context, "user", users),
    )


def _is_missing(path: Path) -> bool:
    """Tell whether there is nothing; whatever else is wrong shows, and is named, on reading."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _check_kind(document: Field) -> None:
    for name, expected in (("apiVersion", "v1"), ("kind", "Config")):
        found = document.text(name) or expected
        if found != expected:
            raise document.wrong(
                name, f"expected {expected}, found {shown(found)}; is this a kubeconfig?"
            )


def _merged(documents: Sequence[Field], plural: str, singular: str) -> dict[str, Field]:
    merged: dict[str, Field] = {}
    for document in documents:
        own: dict[str, Field] = {}
        for entry in document.mappings(plural):
            name = entry.text("name")
            if name is None:
                raise entry.wrong("name", "not set; every entry needs a name")
            if name in own:
                raise entry.wrong("name", f"there are two entries called {shown(name)}")
            place = (document.place / plural)[name]
            own[name] = Field(place, entry.values).inner(singular)
        merged = {**own, **merged}
    return merged


def _known(entries: Mapping[str, Field]) -> str:
    names = [shown(name) for name in sorted(entries)]
    if not names:
        return "none"
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return ", ".join(names[:10]) + more


def _referred(context: Field, what: str, entries: Mapping[str, Field]) -> Field:
    name = context.text(what)
    if name is None:
        raise context.wrong(what, f"not set; known {what}s are: {_known(entries)}")
    if name not in entries:
        raise context.wrong(what, f"there is no {what} {shown(name)}; known are: {_known(entries)}")
    return entries[name]


def _from_file(entry: Field, name: str) -> bytes | None:
    path = _path(entry, name)
    return None if path is None else read(path, entry.place / name)


def _path(entry: Field, name: str) -> Path | None:
    text = entry.text(name)
    return None if text is None else Path(entry.place.file).parent / text


def _server(cluster: Field) -> tuple[ApiServer, tuple[str, ...]]:
    parts = server_url(cluster)
    place = cluster.place / "server"
    insecure = cluster.flag("insecure-skip-tls-verify")
    pem = authorities(cluster, _from_file)
    if insecure and pem is not None:
        raise cluster.wrong(
            "insecure-skip-tls-verify", "excludes a certificate authority; remove one of the two"
        )
    warnings = []
    if insecure:
        flag = cluster.place / "insecure-skip-tls-verify"
        warnings.append(str(flag.wrong("anybody on the way can pose as the server")))
    if parts.scheme == "http":
        warnings.append(str(place.wrong("the connection is not encrypted")))
    proxy = cluster.text("proxy-url")
    server = ApiServer(
        url=parts.geturl(),
        ca_pem=pem,
        tls_server_name=cluster.text("tls-server-name"),
        proxy=None if proxy is None else url(proxy, cluster.place / "proxy-url").geturl(),
        verify=not insecure,
    )
    return server, tuple(warnings)


def _credentials(chosen: Choice, server: ApiServer, clock: Clock) -> Credentials:
    user = chosen.user
    _refuse_unsupported(user)
    path = _path(user, "tokenFile")
    if path is not None:
        place = user.place / "tokenFile"
        named = f"{place.file}: {place.path}: {shown(str(path))}"
        read(path, place)
        read_token(path, named)
        return FileToken(path, clock, named)
    token = static_token(user)
    if token is not None:
        return token
    # As for client-go, a plugin is not asked where the kubeconfig itself holds a credential.
    if "exec" in user and server.client_cert_pem is None:
        return ExecToken(plugin(user.inner("exec"), chosen.cluster, server), clock)
    return Anonymous()


def _refuse_unsupported(user: Field) -> None:
    for name in ("username", "password"):
        if name in user:
            way_out = "use a token, a client certificate or an exec plugin"
            raise user.wrong(name, f"Kubernetes accepts passwords no longer; {way_out}")
    if "auth-provider" in user:
        provider = shown(user.inner("auth-provider").text("name") or "?")
        way_out = "use the exec plugin of your cloud"
        raise user.wrong("auth-provider", f"{provider}: removed from Kubernetes in 1.26; {way_out}")
    for name in IMPERSONATION:
        if name in user:
            raise user.wrong(name, "impersonation is not supported; use a credential of that user")
