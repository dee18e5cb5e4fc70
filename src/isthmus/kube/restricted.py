"""Kubeconfigs that come from a Secret: whoever wrote it must not gain anything by it.

A kubeconfig can run programs, read files, switch TLS checks off and send requests anywhere. Here
only what is listed below is allowed, everywhere in the document, used or not; anything else is
refused by name, and nothing is run, opened or contacted to find out.
"""

from dataclasses import dataclass
from functools import partial

from isthmus.kube.access import Access
from isthmus.kube.apiserver import ApiServer
from isthmus.kube.credentials import Anonymous
from isthmus.kube.document import Field, Place, parse
from isthmus.kube.entries import authorities, client_certificate, server_url, static_token, url
from isthmus.kube.kubeconfig import choose
from isthmus.model.addresses import refusal

LARGEST = 1 << 20  # bytes, the largest Secret that Kubernetes stores

DOCUMENT = frozenset(
    {"apiVersion", "kind", "preferences", "extensions", "current-context"}
    | {"clusters", "contexts", "users"}
)
CLUSTER = frozenset(
    {"server", "certificate-authority-data", "tls-server-name", "disable-compression", "extensions"}
)
CONTEXT = frozenset({"cluster", "user", "namespace", "extensions"})
USER = frozenset({"token", "client-certificate-data", "client-key-data", "extensions"})

WHY = {
    "auth-provider": "it would run a program here",
    "exec": "it would run a program here",
    "insecure-skip-tls-verify": "anybody on the way could pose as the server",
    "proxy-url": "requests would go where this Secret's author likes",
    "certificate-authority": "it would read a file here; use certificate-authority-data",
    "client-certificate": "it would read a file here; use client-certificate-data",
    "client-key": "it would read a file here; use client-key-data",
    "tokenFile": "it would read a file here; use token",
    "username": "Kubernetes accepts passwords no longer; use token",
    "password": "Kubernetes accepts passwords no longer; use token",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What the operator of this process allows beyond the defaults."""

    allow_proxy: bool = False
    allow_loopback: bool = False


def load(raw: bytes, file: str, policy: Policy | None = None) -> Access:
    """Return the access that ``raw`` describes; ``file`` is what errors call it."""
    policy = policy or Policy()
    if len(raw) > LARGEST:
        raise Place(file).wrong(f"larger than {LARGEST} bytes; a kubeconfig is a few thousand")
    document = parse(raw, file, aliases=False)
    _check_fields(document, policy)
    chosen = choose([document], _only_context(document))
    pair = client_certificate(chosen.user, _no_file)
    return Access(
        context=chosen.name,
        server=_server(chosen.cluster, policy).presenting(pair),
        credentials=static_token(chosen.user) or Anonymous(),
        namespace=chosen.context.text("namespace") or "default",
    )


def _check_fields(document: Field, policy: Policy) -> None:
    _check(document, DOCUMENT)
    cluster = CLUSTER | {"proxy-url"} if policy.allow_proxy else CLUSTER
    kinds = (("clusters", "cluster", cluster), ("contexts", "context", CONTEXT))
    for plural, singular, allowed in (*kinds, ("users", "user", USER)):
        for entry in document.mappings(plural):
            name = entry.text("name") or "?"
            place = (document.place / plural)[name]
            _check(Field(place, entry.values).inner(singular), allowed)


def _check(entry: Field, allowed: frozenset[str]) -> None:
    for name in entry:
        if name not in allowed and entry.values[name] is not False:
            why = WHY.get(name, "this field is not among those that are")
            raise entry.wrong(name, f"not allowed in a kubeconfig from a Secret: {why}")


def _only_context(document: Field) -> str | None:
    """Return the one context there is, where the document does not say which is current."""
    if document.text("current-context") is not None:
        return None
    names = [entry.text("name") for entry in document.mappings("contexts")]
    if len(names) != 1:
        problem = f"not set; with {len(names)} contexts, one must be named here"
        raise document.wrong("current-context", problem)
    return names[0]


def _server(cluster: Field, policy: Policy) -> ApiServer:
    parts = server_url(cluster)
    place = cluster.place / "server"
    if parts.scheme != "https":
        raise place.wrong("expected a URL with https, found http")
    _check_host(parts.hostname or "", place, policy)
    proxy = cluster.text("proxy-url")
    if proxy is not None:
        at = cluster.place / "proxy-url"
        _check_host(url(proxy, at).hostname or "", at, policy)
    return ApiServer(
        url=parts.geturl(),
        ca_pem=authorities(cluster, _no_file),
        tls_server_name=cluster.text("tls-server-name"),
        proxy=proxy,
        refusal=partial(refusal, allow_loopback=policy.allow_loopback),
    )


def _check_host(host: str, place: Place, policy: Policy) -> None:
    why = refusal(host, allow_loopback=policy.allow_loopback)
    if why is not None:
        raise place.wrong(f"{host}: {why}; such an address is not allowed here")


def _no_file(_entry: Field, _name: str) -> None:
    return None
