"""Whatever goes wrong, in whatever order, the reflection ends up equal to the server.

The contract suite repeats the important faults on a real server; ``make sim`` plays thousands of
schedules like these.
"""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sim.reflection import ACTIONS, FAULTS, NAMES, Step, play
from tests.support.virtual import VirtualLoop

STEPS = st.one_of(
    st.tuples(st.just("put"), st.sampled_from(NAMES), st.integers(0, 9)),
    st.tuples(st.just("delete"), st.sampled_from(NAMES), st.just(0)),
    st.tuples(st.just("wait"), st.just(""), st.integers(0, 900)),
    st.tuples(st.just("fault"), st.sampled_from(sorted(FAULTS)), st.integers(1, 4)),
    st.tuples(st.sampled_from(ACTIONS), st.just(""), st.just(0)),
)


@settings(max_examples=60, deadline=None)
@given(steps=st.lists(STEPS, max_size=30), seed=st.integers(0, 99), streaming=st.booleans())
def test_any_mixture_of_faults_and_changes_ends_in_the_servers_state(
    steps: list[Step], seed: int, streaming: bool
) -> None:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(play(steps, seed=seed, streaming=streaming))


@pytest.mark.parametrize("streaming", [True, False], ids=["streamed", "listed"])
@pytest.mark.parametrize("name", sorted(FAULTS))
async def test_one_fault_while_the_world_changes_is_survived(name: str, streaming: bool) -> None:
    await play(
        [
            ("put", "a", 1), ("put", "b", 1), ("put", "c", 1), ("wait", "", 5),
            ("fault", name, 3), ("disconnect", "", 0), ("put", "a", 2), ("delete", "b", 0),
            ("put", "d", 1), ("wait", "", 200), ("compact", "", 0), ("put", "e", 1),
            ("disconnect", "", 0), ("wait", "", 60),
        ],
        streaming=streaming,
    )  # fmt: skip


async def test_a_watch_from_before_a_restore_is_found_out() -> None:
    """The server accepts a version from its own future and says nothing about what it lost."""
    scene = await play(
        [
            ("put", "a", 1), ("backup", "", 0), ("put", "b", 1), ("put", "c", 1),
            ("wait", "", 5), ("restore", "", 0),
        ]
    )  # fmt: skip
    assert {key.name for key in scene.cache.objects} >= {"a"}
    assert not {key.name for key in scene.cache.objects} & {"b", "c"}


async def test_versions_that_a_restore_hands_out_twice_are_not_mistaken_for_each_other() -> None:
    await play(
        [
            ("put", "a", 1), ("backup", "", 0), ("put", "a", 2), ("put", "b", 1), ("wait", "", 5),
            ("restore", "", 0), ("put", "a", 3), ("put", "b", 1),
        ],
        streaming=False,
    )  # fmt: skip
