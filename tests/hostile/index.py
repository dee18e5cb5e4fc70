"""The index of hostile inputs: for each row, the tests that show what becomes of it.

tests/hostile/test_index.py holds it to the suite, docs/hostile-inputs.md shows it.
"""

from tests.hostile import gateways, objects, operators, remotes
from tests.hostile.row import Part

PARTS: tuple[Part, ...] = (*remotes.PARTS, *objects.PARTS, *gateways.PARTS, *operators.PARTS)
