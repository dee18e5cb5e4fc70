"""A step of the demo's story that does not hold ends it."""

from collections.abc import Awaitable, Callable, Sequence

import pytest

from isthmus.cli.showing import story
from isthmus.cli.showing.story import DoesNotHold, Stage


class Page:
    """Keeps what was told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, text: str = "") -> None:
        self.lines.append(text)

    def chapter(self, text: str) -> None:
        self.lines.append(text)

    def typed(self, command: str) -> None:
        self.lines.append(f"$ {command}")


class Scripted:
    """Answers whatever is typed, the last answer for ever."""

    def __init__(self, answers: Sequence[str]) -> None:
        self._answers = list(answers)
        self.typed: list[str] = []

    async def run(self, line: str) -> str:
        self.typed.append(line)
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


def stage(*answers: str, port: int = 80) -> tuple[Stage, Page, Scripted]:
    page, shell = Page(), Scripted(answers)
    return Stage(page, shell, port), page, shell


async def test_a_question_is_asked_until_its_answer_holds_and_only_that_one_is_shown() -> None:
    made, page, _ = stage("no", "not yet", "yes")
    await made.see("ask", lambda answer: answer == "yes")
    assert page.lines == ["$ ask", "yes", ""]


async def test_a_question_whose_answer_never_holds_shows_it_and_ends_the_story() -> None:
    made, page, _ = stage("no")
    with pytest.raises(DoesNotHold, match=r"^ask: not what it should be after 60 s"):
        await made.see("ask", lambda answer: answer == "yes")
    assert page.lines == ["$ ask", "no", ""]


async def test_what_is_done_is_done_once_and_has_to_say_so() -> None:
    made, _, shell = stage("service/other created")
    with pytest.raises(DoesNotHold, match=r"^do: it should say 'service/web created'"):
        await made.do("do", "service/web created")
    assert shell.typed == ["do"]


async def test_a_port_that_was_moved_is_part_of_the_url_that_is_called() -> None:
    moved, _, shell = stage("yes", port=64080)
    await moved.call("curl", "nginx-set-0", lambda answer: answer == "yes")
    (typed,) = shell.typed
    assert typed == (
        "isthmus demo call east/curl "
        "http://nginx-set-0.nginx-svc-west.default.svc.east.cluster.local:64080"
    )


@pytest.mark.parametrize("part", [story.trust, story.installed, story.tell, story.again])
async def test_no_part_of_the_story_is_told_where_nothing_happens(
    part: Callable[[Stage], Awaitable[None]],
) -> None:
    made, _, _ = stage("nothing")
    with pytest.raises(DoesNotHold):
        await part(made)
