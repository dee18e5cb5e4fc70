"""Who takes part: ourselves, the floor beneath us, and the libraries one could use instead."""

from dataclasses import dataclass

OURS = "isthmus"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A row of the tables: a module of :mod:`bench.consumers`, perhaps in one of its variants."""

    name: str
    module: str
    variant: str = ""
    package: str = ""  # the peer that is measured; empty for what runs in the project's own venv
    watches: bool = True

    @property
    def is_peer(self) -> bool:
        """Whether this is a library that we claim to be better than."""
        return bool(self.package) and self.package != "orjson"


CONTENDERS = (
    Contender(name=OURS, module="ours"),
    Contender(name=f"{OURS}, client.list alone", module="ours", variant="list", watches=False),
    Contender(name=f"{OURS}, streamed", module="ours", variant="streamed", watches=False),
    Contender(name=f"{OURS}, one page", module="ours", variant="whole", watches=False),
    Contender(name=f"{OURS}, without gzip", module="ours", variant="plain", watches=False),
    Contender(name="floor: aiohttp + msgspec", module="bare_msgspec"),
    Contender(name="floor: aiohttp + orjson", module="bare_orjson", package="orjson"),
    Contender(name="lightkube", module="lightkube_client", package="lightkube"),
    Contender(name="kubernetes", module="kubernetes_client", package="kubernetes"),
    Contender(
        name="kubernetes_asyncio", module="kubernetes_asyncio_client", package="kubernetes_asyncio"
    ),
    Contender(
        name="kubernetes_asyncio, pages of 500",
        module="kubernetes_asyncio_client",
        variant="paged",
        package="kubernetes_asyncio",
        watches=False,
    ),
    Contender(name="kopf", module="kopf_operator", package="kopf", watches=False),
    Contender(name="kr8s", module="kr8s_client", package="kr8s"),
)

# What importing costs: a module, and the package it comes from (empty: our own venv).
IMPORTS = (
    ("isthmus.kube.client", ""),
    ("isthmus.kube.http", ""),
    ("aiohttp", ""),
    ("lightkube", "lightkube"),
    ("kubernetes", "kubernetes"),
    ("kubernetes_asyncio", "kubernetes_asyncio"),
    ("kopf", "kopf"),
    ("kr8s", "kr8s"),
)
