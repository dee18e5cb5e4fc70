"""Every parser of foreign bytes keeps its promises: over what is kept, and over changes of it.

The same targets run for longer, led by what they reach, with ``make fuzz``.
"""

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.every import TARGETS
from tests.fuzz.mutation import mutated
from tests.fuzz.target import CORPUS, kept

LARGEST = 8 * 1024  # bytes of an input that is kept


@pytest.mark.parametrize("name", TARGETS)
def test_what_is_kept_does_no_harm(name: str) -> None:
    for file, data in kept(name).items():
        with ExitStack() as stack:
            stack.push(partial(naming, CORPUS / name / file))
            TARGETS[name](data)


def naming(path: Path, _kind: object, error: BaseException | None, _trace: object) -> None:
    """Say which input it was."""
    if error is not None:
        error.add_note(f"the input is {path}")


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_whatever_is_made_of_it_does_no_harm_either(name: str, data: st.DataObject) -> None:
    corpus = list(kept(name).values())
    first = data.draw(st.sampled_from(corpus) | st.binary(max_size=200))
    dice = Random(data.draw(st.integers(0, 1 << 32)))
    given_bytes = mutated(first, dice, corpus)
    TARGETS[name](given_bytes)


def test_every_target_has_a_few_small_inputs_and_there_are_no_others() -> None:
    assert {path.name for path in CORPUS.iterdir()} == TARGETS.keys()
    for name in TARGETS:
        found = kept(name)
        assert found, f"{name} has no inputs"
        assert all(len(one) <= LARGEST for one in found.values()), name
