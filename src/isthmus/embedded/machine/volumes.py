"""A pod's volumes, as folders of this machine that nobody else can read, kept current.

They are written when a process asks for them for the first time: the programs that run inside of
this process read no files, and pods without processes need none.
"""

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from isthmus.embedded.machine import contents
from isthmus.embedded.machine.contents import Known, NothingToMount
from isthmus.embedded.machine.objects import Container, Pod, Token
from isthmus.kube.client import Client
from isthmus.model.objects import ConfigMap, Key, ObjectReference, Secret
from isthmus.model.reviews import TokenRequest, TokenRequestSpec
from isthmus.runtime.clock import Clock

RENEWED = 0.8  # of a token's life, after which there is another one, as kubelets do it


@dataclass(frozen=True, slots=True, kw_only=True)
class Stores:
    """Where volumes come from: copies of what the cluster holds, and who gives out tokens."""

    client: Client
    configs: Mapping[Key, ConfigMap]
    secrets: Mapping[Key, Secret]
    clock: Clock
    folder: Path | None  # where volumes are; else where the system keeps temporary files


@dataclass(frozen=True, slots=True)
class Mounts:
    """A container's mounts, and where each of them is on this machine."""

    folder: Path  # the pod's own
    paths: tuple[tuple[str, Path], ...] = ()


@dataclass(frozen=True, slots=True)
class _Issued:
    text: str = field(repr=False)
    due: float  # when another one is asked for


class Volumes:
    """The volumes of one pod at its address."""

    def __init__(self, pod: Pod, address: str, stores: Stores) -> None:
        self._pod = pod
        self._address = address
        self._stores = stores
        self._folder: Path | None = None
        self._tokens: dict[Token, _Issued] = {}
        self._written: dict[str, frozenset[str]] = {}

    async def mounted(self, container: Container) -> Mounts:
        """Write all volumes and say where they are; raises ``NothingToMount``."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="pod-", dir=self._stores.folder))
        await self.refresh()
        paths = [
            (one.mount_path, _beneath(self._folder / one.name, one.sub_path))
            for one in container.volume_mounts
        ]
        for _, path in paths:
            path.mkdir(parents=True, exist_ok=True)
        return Mounts(self._folder, tuple(paths))

    async def refresh(self) -> float | None:
        """Let the files say what the cluster says now; answer when a token has to be renewed."""
        if self._folder is None:
            return None
        clock = self._stores.clock
        for token in contents.tokens_of(self._pod):
            held = self._tokens.get(token)
            if held is None or held.due <= clock.now():
                self._tokens[token] = await self._issued(token)
        known = Known(
            pod=self._pod,
            address=self._address,
            configs=self._stores.configs,
            secrets=self._stores.secrets,
            tokens={token: issued.text for token, issued in self._tokens.items()},
        )
        for volume in self._pod.spec.volumes:
            self._write(volume.name, contents.files(volume, known))
        due = min((issued.due for issued in self._tokens.values()), default=None)
        return None if due is None else max(0.0, due - clock.now())

    def remove(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _write(self, volume: str, files: Mapping[str, bytes]) -> None:
        """Let a volume hold these files; what processes have put there themselves stays."""
        assert self._folder is not None
        folder = self._folder / volume
        folder.mkdir(exist_ok=True)
        for name, data in files.items():
            _replace(folder / name, data)
        for name in self._written.get(volume, frozenset()) - files.keys():
            (folder / name).unlink(missing_ok=True)
        self._written[volume] = frozenset(files)

    async def _issued(self, token: Token) -> _Issued:
        """Have a token that dies with the pod."""
        metadata, clock = self._pod.metadata, self._stores.clock
        wanted = TokenRequestSpec(
            audiences=(token.audience,) if token.audience else (),
            expiration_seconds=token.expiration_seconds,
            bound_object_ref=ObjectReference(
                api_version="v1", kind="Pod", name=metadata.name, uid=metadata.uid
            ),
        )
        account = Key(metadata.namespace, self._pod.spec.service_account_name)
        given = await self._stores.client.request_token(account, TokenRequest(spec=wanted))
        until = datetime.fromisoformat(given.status.expiration_timestamp or "")
        left = (until - clock.utc()).total_seconds()
        return _Issued(given.status.token, clock.now() + RENEWED * left)


def _beneath(folder: Path, path: str) -> Path:
    if ".." in Path(path).parts or path.startswith("/"):
        raise NothingToMount(f"{path[:80]!r} is not a path inside of a volume")
    return folder / path


def _replace(path: Path, data: bytes) -> None:
    """Write a file as a whole, so that nobody reads half of it; not at all if it is the same."""
    if path.is_file() and path.read_bytes() == data:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.new")
    beside.touch(mode=0o600)
    beside.write_bytes(data)
    beside.replace(path)
