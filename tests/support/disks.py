"""Where files cannot be written, or could be read by others."""

import os
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager


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


@contextmanager
def masked(mask: int) -> Iterator[None]:
    """Let what this process makes lack the rights of a mask, and no others."""
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)
