"""What people and scripts are shown of a walk and of checks, as somebody has read and kept it."""

from collections.abc import Callable
from dataclasses import replace

import msgspec
import pytest
import yaml

from isthmus.cli.checking import checkviews, whyviews
from isthmus.cli.checking.asking import Answer
from isthmus.cli.checking.evidence.calls import Case, Source, Target
from isthmus.cli.checking.evidence.sites import Unseen
from isthmus.cli.checking.judging.before import before
from isthmus.cli.checking.judging.installed import installed
from isthmus.cli.checking.judging.joined import joined
from isthmus.cli.checking.judging.linked import linked
from isthmus.cli.checking.judging.mirrored import mirrored
from isthmus.cli.checking.judging.trusted import trusted
from isthmus.cli.checking.walking.walk import walk
from isthmus.cli.render import Style
from isthmus.model.names import EGRESS
from tests.cli.checking import worlds
from tests.cli.checking.worlds import census, good

Golden = Callable[[str, str], None]
FORMATS = ("table", "json", "yaml")


def well() -> Case:
    return good()


def ungranted() -> Case:
    case = good()
    assert isinstance(case.target, Target)
    called = replace(case.called, account="shop/curl")
    return replace(case, target=replace(case.target, grants=()), called=called)


def half_seen() -> Case:
    """Only the source can be looked at, and its egress is down."""
    case = good()
    assert isinstance(case.source, Source)
    source = replace(case.source, site=worlds.without(case.source.site, EGRESS))
    why = Unseen("the kubeconfig has no context west; name one for the target with --to")
    return replace(case, source=source, target=why)


CASES = {"well": well, "no-grant": ungranted, "half-seen": half_seen}


@pytest.mark.parametrize("output", FORMATS)
@pytest.mark.parametrize("name", CASES)
def test_a_walk_is_shown_as_it_was_read_and_kept(golden: Golden, name: str, output: str) -> None:
    case = CASES[name]()
    text = whyviews.rendered(Answer(case, walk(case)), output, Style())
    golden(f"why-{name}.{'txt' if output == 'table' else output}", text)


@pytest.mark.parametrize("name", CASES)
def test_a_walk_for_scripts_says_what_is_broken_and_every_step(name: str) -> None:
    case = CASES[name]()
    answer = Answer(case, walk(case))
    read = msgspec.json.decode(whyviews.rendered(answer, "json", Style()))
    assert read == yaml.safe_load(whyviews.rendered(answer, "yaml", Style()))
    assert {"export", "mirror", "from", "to", "works", "steps", "unseen"} <= read.keys()
    assert read["works"] == ("broken" not in read)
    for step in read["steps"]:
        assert {"step", "outcome"} <= step.keys()
        assert step["outcome"] in ("ok", "broken", "unknown")
        has_way = "fix" in step or "hint" in step
        assert has_way == ("reason" in step) == (step["outcome"] == "broken")
    if "broken" in read:
        assert read["broken"] in read["steps"]


def test_what_a_cluster_says_cannot_write_to_the_terminal() -> None:
    case = ungranted()
    steps = [replace(one, detail="a\x1b]0;gotcha\x07\nb") for one in walk(case)]
    text = whyviews.rendered(Answer(case, steps), "table", Style())
    assert "\x1b" not in text
    assert "a ]0;gotcha b" in text


def test_colour_marks_what_is_broken() -> None:
    case = ungranted()
    text = whyviews.rendered(Answer(case, walk(case)), "table", Style(colour=True))
    assert "\x1b[31m×\x1b[0m grant" in text  # noqa: RUF001  # the sign of a failure


@pytest.mark.parametrize("output", [*FORMATS, "short"])
def test_checks_are_shown_as_they_were_read_and_kept(golden: Golden, output: str) -> None:
    one = census(
        site=worlds.without(worlds.told(worlds.site(), problems=("x is wrong",)), EGRESS),
        probes={},
    )
    found = [
        *before(worlds.before(), "isthmus"),
        *installed(one),
        *trusted(one.site),
        *linked(one),
        *mirrored(one),
        *joined(one, census("west")),
    ]
    text = checkviews.rendered(found, output, Style())
    # The anchor is made anew for every run.
    text = text.replace(worlds.prints(worlds.anchor())[:16], "0123456789abcdef")
    golden(f"check.{output if output in ('json', 'yaml') else f'{output}.txt'}", text)
