"""Stories that once went wrong, kept as data: a file each, with what was wrong in its name."""

import json
from pathlib import Path

from tests.sim.layout import Joint, Layout
from tests.sim.mutations import BUGS, built_in
from tests.sim.play import Story
from tests.sim.running import played
from tests.sim.steps import Step

FOLDER = Path(__file__).parent / "kept"


def written(told: Story) -> str:
    """Say a story as text, a line for each step."""
    layout = told.layout
    head = {
        "seed": told.seed,
        "quiet": told.quiet,
        "kind": told.kind,
        "streaming": told.streaming,
        "replicas": layout.replicas,
        "page": layout.page,
        "joints": [[one.target, one.via, one.plane, one.headless] for one in layout.joints],
        "services": [list(one) for one in layout.services],
    }
    lines = [json.dumps(head), *(json.dumps(list(step)) for step in told.steps)]
    return "\n".join(lines) + "\n"


def read(text: str) -> Story:
    head, *steps = (json.loads(line) for line in text.splitlines() if line)
    joints = tuple(Joint(*one) for one in head["joints"])
    services = tuple((one, two) for one, two in head["services"])
    layout = Layout(joints, services, head["replicas"], head["page"])
    return Story(
        head["seed"],
        layout,
        tuple(Step(*one) for one in steps),
        head["quiet"],
        head["kind"],
        head["streaming"],
    )


def stories() -> dict[str, Story]:
    """All that are kept, by what was wrong."""
    return {path.stem: read(path.read_text()) for path in sorted(FOLDER.glob("*.jsonl"))}


def wrong_with(name: str, told: Story) -> str:
    """Return what is wrong with a story that is kept, or nothing.

    It has to pass, and to fail if the bug that it is named after is back. One that is named after
    no bug that can be built in would show nothing any more, and nobody would notice.
    """
    if name not in BUGS:
        return "is named after no bug of tests/sim/mutations.py"
    wrong = played(told).wrong
    if wrong:
        return wrong
    with built_in(name):
        return "" if played(told).wrong else "would not notice the bug"
