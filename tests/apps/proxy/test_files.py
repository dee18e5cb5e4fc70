"""A proxy's files where nothing can be written: the last good ones stay, and no half of a key."""

import os
import re
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from isthmus.apps.credentials import Credentials
from isthmus.apps.proxy.files import CannotWrite, Files
from isthmus.pki.issue import issue
from isthmus.pki.keys import new_key
from isthmus.xds.names import OWN_FILE
from tests.support import pki


def own(account: str) -> Credentials:
    key, above = new_key(), pki.issuer()
    leaf = issue(above, pki.identity("east", account), key.public_key(), pki.NOW)
    return Credentials(leaf, above.certificate, key)


@contextmanager
def full_disk() -> Iterator[None]:
    """Let this process add no byte to any file, as if there were no room left."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)


def test_a_full_disk_leaves_the_last_key_and_no_half_of_another(tmp_path: Path) -> None:
    files = Files(tmp_path)
    files.prepare()
    files.write_own(own("curl"))
    before = (tmp_path / OWN_FILE).read_bytes()
    with full_disk(), pytest.raises(CannotWrite, match=f"^{re.escape(str(tmp_path / OWN_FILE))}: "):
        files.write_own(own("other"))
    assert (tmp_path / OWN_FILE).read_bytes() == before
    assert list(tmp_path.iterdir()) == [tmp_path / OWN_FILE]
    files.write_own(own("other"))
    assert (tmp_path / OWN_FILE).read_bytes() != before


def test_a_folder_that_nobody_can_write_to_is_named() -> None:
    """Not even its owner: in this one, no file was ever made by hand."""
    with pytest.raises(CannotWrite, match=r"^/proc/self/fd/"):
        Files(Path("/proc/self/fd")).write_own(own("curl"))


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_a_key_is_its_owners_alone_whatever_the_umask(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        Files(tmp_path).write_own(own("curl"))
    finally:
        os.umask(before)
    assert (tmp_path / OWN_FILE).stat().st_mode & 0o777 == 0o600
