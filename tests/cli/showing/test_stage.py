"""A step of the demo's story that does not hold ends it."""

from collections.abc import Awaitable, Callable, Sequence

import pytest

from isthmus.cli.showing import story
from isthmus.cli.showing.stage import DoesNotHold, Outcome, Stage


class Page:
    """Keeps what was told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, text: str = "") -> None:
        self.lines.append(text)

    def chapter(self, text: str) -> None:
        self.lines.append(text)

    def typed(self, line: str) -> None:
        self.lines.append(f"$ {line}")


class Scripted:
    """Answers whatever is typed, the last answer for ever."""

    def __init__(self, answers: Sequence[str], code: int) -> None:
        self._answers = list(answers)
        self._code = code
        self.typed: list[str] = []

    async def run(self, line: str) -> Outcome:
        self.typed.append(line)
        text = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return Outcome(text, self._code)


def stage(*answers: str, code: int = 0) -> tuple[Stage, Page, Scripted]:
    page, shell = Page(), Scripted(answers, code)
    return Stage(page, shell), page, shell


async def test_a_question_is_asked_until_its_answer_holds_and_only_that_one_is_shown() -> None:
    made, page, _ = stage("no", "not yet", "yes")
    await made.see("ask", lambda answer: answer == "yes")
    assert page.lines == ["$ ask", "yes", ""]


async def test_a_question_whose_answer_never_holds_shows_it_and_ends_the_story() -> None:
    made, page, _ = stage("no")
    with pytest.raises(DoesNotHold, match=r"^ask: not what it should be after 120 s; `isthmus -v"):
        await made.see("ask", lambda answer: answer == "yes")
    assert page.lines == ["$ ask", "no", ""]


async def test_what_is_done_is_done_once_and_has_to_say_so() -> None:
    made, _, shell = stage("service/other created")
    with pytest.raises(DoesNotHold, match=r"^do: it should say 'service/web created'"):
        await made.do("do", "service/web created")
    assert shell.typed == ["do"]


async def test_what_is_done_has_to_succeed_whatever_it_says() -> None:
    made, page, _ = stage("service/web created", code=3)
    with pytest.raises(DoesNotHold, match=r"^do: it has ended with 3"):
        await made.do("do", "service/web created")
    assert page.lines == ["$ do", "service/web created", ""]


@pytest.mark.parametrize(
    "part",
    [
        story.install,
        story.join,
        story.export,
        story.refuse,
        story.stop,
        story.grow,
        story.clean_up,
        story.tell,
    ],
)
async def test_no_part_of_the_story_is_told_where_nothing_happens(
    part: Callable[[Stage], Awaitable[None]],
) -> None:
    made, _, _ = stage("nothing")
    with pytest.raises(DoesNotHold):
        await part(made)
