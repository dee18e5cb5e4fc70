"""Kubeconfig documents for embedded clusters, as kubectl and our own client read them."""

import base64
from collections.abc import Iterable
from dataclasses import dataclass, field

from isthmus.model.wire import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What a client needs to call one cluster."""

    cluster: str
    url: str
    token: str = field(repr=False)
    ca_pem: str = ""  # empty for plain HTTP


def kubeconfig(entries: Iterable[Entry]) -> JsonObject:
    """One document with a context per cluster, named after it; the first one is current."""
    found = list(entries)
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": found[0].cluster,
        "clusters": [{"name": entry.cluster, "cluster": _cluster(entry)} for entry in found],
        "users": [{"name": _user(entry), "user": {"token": entry.token}} for entry in found],
        "contexts": [
            {
                "name": entry.cluster,
                "context": {"cluster": entry.cluster, "user": _user(entry)},
            }
            for entry in found
        ],
    }


def _user(entry: Entry) -> str:
    return f"{entry.cluster}-admin"


def _cluster(entry: Entry) -> JsonObject:
    cluster: JsonObject = {"server": entry.url}
    if entry.ca_pem:
        encoded = base64.b64encode(entry.ca_pem.encode()).decode()
        cluster["certificate-authority-data"] = encoded
    return cluster
