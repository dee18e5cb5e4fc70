"""What a kubeconfig says about a credential plugin; :mod:`isthmus.kube.exec` runs it."""

import base64
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from isthmus.kube.apiserver import ApiServer
from isthmus.kube.document import Field, Place, shown
from isthmus.model.wire import Json, JsonObject

API_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
EXTENSION = "client.authentication.k8s.io/exec"  # holds what a plugin is told about a cluster


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """What a kubeconfig says about a plugin, and where, for errors. ``env`` may hold secrets."""

    place: Place
    api_version: str
    command: str
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    install_hint: str = ""
    interactive: str = "IfAvailable"  # or Always, Never
    cluster: JsonObject | None = field(default=None, repr=False)
    patience: float | None = None  # seconds; None takes the usual limit


def plugin(entry: Field, cluster: Field, server: ApiServer) -> Plugin:
    """Read the ``exec`` of a user; a plugin may be told about the cluster it is asked for."""
    version = entry.text("apiVersion")
    if version not in API_VERSIONS:
        found = "not set" if version is None else f"found {shown(version)}"
        raise entry.wrong("apiVersion", f"{found}; expected {' or '.join(API_VERSIONS)}")
    command = entry.text("command")
    if command is None:
        raise entry.wrong("command", "not set; expected the program to run")
    if os.sep in command:
        command = str(Path(entry.place.file).parent / command)
    mode = entry.text("interactiveMode") or "IfAvailable"
    if mode not in ("Never", "IfAvailable", "Always"):
        raise entry.wrong(
            "interactiveMode", f"found {shown(mode)}; expected Never, IfAvailable or Always"
        )
    return Plugin(
        place=entry.place,
        api_version=version,
        command=command,
        args=entry.texts("args"),
        env=dict(_variable(each) for each in entry.mappings("env")),
        install_hint=entry.text("installHint") or "",
        interactive=mode,
        cluster=_told(server, cluster) if entry.flag("provideClusterInfo") else None,
    )


def _variable(entry: Field) -> tuple[str, str]:
    name = entry.text("name")
    if name is None or "=" in name:
        raise entry.wrong("name", "not the name of an environment variable")
    return name, entry.text("value") or ""


def _told(server: ApiServer, cluster: Field) -> JsonObject:
    """Return what a plugin with provideClusterInfo is told about the cluster."""
    authorities = base64.b64encode(server.ca_pem or b"").decode()
    told: JsonObject = {
        "server": server.url,
        "tls-server-name": server.tls_server_name,
        "insecure-skip-tls-verify": not server.verify,
        "certificate-authority-data": authorities,
        "proxy-url": server.proxy,
        "config": _extension(cluster),
    }
    return {name: value for name, value in told.items() if value}


def _extension(cluster: Field) -> Json:
    for entry in cluster.mappings("extensions"):
        if entry.text("name") == EXTENSION:
            return entry.values.get("extension")
    return None
