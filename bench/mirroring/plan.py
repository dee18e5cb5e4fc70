"""What a part of mirroring is to measure, and the ground on which it is measured."""

import compileall
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import isthmus
from bench.mirroring.peer import Peer
from lab.build import build
from lab.versions import CONTROL_PLANE


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What one part measures; ``sizes`` grow."""

    sizes: tuple[int, ...]
    rounds: Mapping[int, int] = field(default_factory=dict)  # by size
    samples: int = 0  # of single changes, for each side
    rest: float = 0.0  # seconds without any change
    peers: tuple[Peer, ...] = ()


@contextmanager
def ground() -> Iterator[Path]:
    """Have everything there that is run, and a place for its files."""
    build(CONTROL_PLANE)
    # As it is where it was installed; a checkout may be forbidden to keep what it has compiled.
    compileall.compile_dir(Path(isthmus.__file__).parent, quiet=1)
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)
