"""Private folders that belong to one process, and to nobody once it has died, however it died.

The folder itself is locked: the kernel takes the lock back when its holder ends, so that whoever
comes next can tell what was left behind from what is in use.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path


@contextmanager
def private_folder(prefix: str) -> Iterator[Path]:
    """A fresh folder, removed at the end; removes those that dead processes of this user left."""
    for stale in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with closing(_Claim(stale)) as abandoned:
            if abandoned.is_held:
                shutil.rmtree(stale, ignore_errors=True)
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix))
        claim = _Claim(folder)
        # Another process that starts at this moment may take the unclaimed folder for a stale one.
        if claim.is_held:
            break
        claim.close()
    with closing(claim):
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


class _Claim:
    """The lock of a folder, if it is ours to have. Children that we start do not inherit it."""

    def __init__(self, folder: Path) -> None:
        self._descriptor: int | None = None
        self.is_held = False
        with suppress(OSError):  # gone, another user's, or somebody else's lock
            self._descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            there, ours = os.stat(folder), os.fstat(self._descriptor)
            self.is_held = os.path.samestat(there, ours) and ours.st_uid == os.getuid()

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
