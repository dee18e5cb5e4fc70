"""What an index of hostile inputs consists of."""

from typing import Literal, NamedTuple

# Where a promise is tried: on the function, on whole controllers on virtual time, on real Envoys,
# API servers and processes, or on the command line.
Layer = Literal["unit", "simulation", "integration", "command line"]


class Row(NamedTuple):
    """An input or an attack, and the tests that show what becomes of it.

    ``tests`` are as pytest names them, without the folder that they all share. ``left_out`` says
    which part of the row has no test, and why it needs none.
    """

    name: str
    layers: tuple[Layer, ...]
    tests: tuple[str, ...]
    left_out: str = ""


class Part(NamedTuple):
    """Rows about one side from which harm may come."""

    title: str
    rows: tuple[Row, ...]
