"""The files from which Envoy takes a proxy's certificate and anchors, replaced in one step each.

Envoy notices that a file was moved to its place, and reads it again. The key is readable for nobody
else, from the first byte on.
"""

import os
from contextlib import suppress
from pathlib import Path

from envoy.service.discovery.v3 import discovery_pb2

from isthmus.apps.credentials import Credentials
from isthmus.model.errors import Transient
from isthmus.pki.bundle import Bundle
from isthmus.xds import secrets
from isthmus.xds.names import ANCHORS_FILE, OWN_FILE
from isthmus.xds.resources import Resource


class CannotWrite(Transient):
    """The directory is full, or not ours any more."""


class Files:
    """What a proxy keeps in its directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def prepare(self) -> None:
        """Let nobody else look into the directory."""
        try:
            self._directory.chmod(0o700)
        except OSError as error:
            # A volume that belongs to another user is as private as whoever mounted it made it.
            if not os.access(self._directory, os.W_OK):
                raise CannotWrite(f"{self._directory}: {error.strerror}") from None

    def write_own(self, own: Credentials) -> None:
        self._write(OWN_FILE, secrets.own(own.chain_pem, own.key_pem))

    def write_anchors(self, anchors: Bundle) -> None:
        self._write(ANCHORS_FILE, secrets.anchors(anchors.pem()))

    def remove(self) -> None:
        """Leave no key behind."""
        for name in (OWN_FILE, ANCHORS_FILE):
            (self._directory / name).unlink(missing_ok=True)

    def _write(self, name: str, found: Resource) -> None:
        answer = discovery_pb2.DiscoveryResponse(
            version_info=found.version, type_url=found.type_url, resources=[found.packed]
        )
        path = self._directory / name
        beside = path.with_suffix(".new")
        try:
            beside.unlink(missing_ok=True)
            descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(descriptor, "wb") as file:
                file.write(answer.SerializeToString())
            beside.replace(path)
        except OSError as error:
            with suppress(OSError):
                beside.unlink(missing_ok=True)
            raise CannotWrite(f"{path}: {error.strerror}") from None
