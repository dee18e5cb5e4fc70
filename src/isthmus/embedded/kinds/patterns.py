"""The patterns of schemas, matched without ever going back in the text.

Kubernetes matches by RE2, whose time grows with the text and the pattern and no faster. Python's
``re`` tries again and again: ``^(a+)+$`` and thirty letters would stop an embedded cluster for
minutes. So only its parser is used here; the pattern then runs as a set of places that advance
together, each set computed once. Patterns that cannot run like that, RE2 does not have either.
"""

import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from re import _constants as op  # type: ignore[attr-defined]  # see above
from re import _parser as parser  # type: ignore[attr-defined]
from string import ascii_letters, digits, whitespace
from typing import TypeAlias

from isthmus.model.wire import Json

MOST_STEPS = 5_000  # of one pattern, its repetitions written out
MOST_WORK = 500_000  # steps looked at for one text: a second or so
MOST_COUNT = 1_000  # of a repetition, as RE2 has it
MOST_KNOWN = 100_000  # places, in all sets of them that are remembered for one pattern

_WORD = frozenset(ascii_letters + digits + "_")
_CATEGORIES = {
    op.CATEGORY_DIGIT: frozenset(digits),
    op.CATEGORY_SPACE: frozenset(whitespace.replace("\v", "")),
    op.CATEGORY_WORD: _WORD,
}
_OPPOSITES = {
    op.CATEGORY_NOT_DIGIT: op.CATEGORY_DIGIT,
    op.CATEGORY_NOT_SPACE: op.CATEGORY_SPACE,
    op.CATEGORY_NOT_WORD: op.CATEGORY_WORD,
}

Test: TypeAlias = Callable[[str], bool]
Where: TypeAlias = Callable[[str, str], bool]  # of the characters before and after; "" at an end


class BadPattern(ValueError):
    """Not a pattern, or none that can be matched in bounded time."""


class TooMuchWork(ValueError):
    """A text for which this pattern takes too long; it counts as one that does not match."""


@dataclass(frozen=True, slots=True)
class Take:
    """Go on to the next step if the next character passes."""

    test: Test


@dataclass(frozen=True, slots=True)
class Stand:
    """Go on if this is the right place in the text."""

    where: Where


@dataclass(slots=True)
class Fork:
    """Go on at all of these steps."""

    to: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Done:
    """The pattern has matched."""


Step: TypeAlias = Take | Stand | Fork | Done
Places: TypeAlias = frozenset[int]


@lru_cache(maxsize=512)
def compiled(pattern: str) -> "Pattern":
    """Read a pattern; raises ``BadPattern``."""
    made = _Program()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # about what Python may do one day
            tree = parser.parse(pattern)
        made.add(tree, tree.state.flags)
    except RecursionError as error:
        raise BadPattern("expression nests too deeply") from error
    except (re.error, OverflowError) as error:
        raise BadPattern(str(error)) from error
    return Pattern((*made.steps, Done()))


class Pattern:
    """A pattern that has been read."""

    def __init__(self, steps: tuple[Step, ...]) -> None:
        self._steps = steps
        self._known: dict[tuple[Places, str, str], Places | None] = {}
        self._size = 0  # of what is known
        self._work = 0

    def is_in(self, text: str) -> bool:
        """Tell whether any part of ``text`` matches; raises ``TooMuchWork``."""
        self._work = 0
        places, before = frozenset[int](), ""
        for after in chain(text, ("",)):
            moment = (places, _class(before), after)
            if moment not in self._known:
                self._learn(moment)
            found = self._known[moment]
            if found is None:
                return True
            places, before = found, after
        return False

    def _learn(self, moment: tuple[Places, str, str]) -> None:
        if self._size > MOST_KNOWN:
            self._known.clear()
            self._size = 0
        found = self._known[moment] = self._next(*moment)
        self._size += 1 + len(found or ())

    def _next(self, places: Places, before: str, after: str) -> Places | None:
        """Where the pattern may be after the next character; None if it has matched by now."""
        reached: set[int] = set()
        waiting = [0, *places]  # a match may begin anywhere
        while waiting:
            place = waiting.pop()
            if place in reached:
                continue
            reached.add(place)
            match self._steps[place]:
                case Done():
                    return None
                case Fork(to):
                    waiting += to
                case Stand(where) if where(before, after):
                    waiting.append(place + 1)
        self._work += len(reached)
        if self._work > MOST_WORK:
            raise TooMuchWork("matching takes too long")
        return frozenset(place + 1 for place in reached if after and self._takes(place, after))

    def _takes(self, place: int, sign: str) -> bool:
        step = self._steps[place]
        return isinstance(step, Take) and step.test(sign)


class _Program:
    """Writes a parsed pattern out as steps."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._copies = 0

    def add(self, tree: Json, flags: int) -> None:
        for code, argument in tree:
            self._add(code, argument, flags)
        self._copies += 1  # counted, too, because a part may have no steps
        if max(self._copies, len(self.steps)) > MOST_STEPS:
            raise BadPattern("expression too large")

    def _add(self, code: Json, argument: Json, flags: int) -> None:
        if code is op.SUBPATTERN:
            _, added, removed, inner = argument
            self.add(inner, (flags | added) & ~removed)
        elif code is op.BRANCH:
            self._branch(argument[1], flags)
        elif code in (op.MAX_REPEAT, op.MIN_REPEAT):
            least, most, inner = argument
            self._repeat(least, most, inner, flags)
        elif code is op.AT:
            self.steps.append(Stand(_place(argument, flags)))
        else:
            self.steps.append(Take(_folded(_test(code, argument, flags), flags)))

    def _branch(self, ways: Json, flags: int) -> None:
        fork, ends = Fork(), list[Fork]()
        self.steps.append(fork)
        for way in ways:
            fork.to.append(len(self.steps))
            self.add(way, flags)
            ends.append(Fork())
            self.steps.append(ends[-1])
        for end in ends:
            end.to.append(len(self.steps))

    def _repeat(self, least: int, most: Json, inner: Json, flags: int) -> None:
        if least > MOST_COUNT or (most is not op.MAXREPEAT and most > MOST_COUNT):
            raise BadPattern("invalid repeat count")
        for _ in range(least):
            self.add(inner, flags)
        if most is op.MAXREPEAT:
            start, fork = len(self.steps), Fork()
            self.steps.append(fork)
            self.add(inner, flags)
            self.steps.append(Fork([start]))
            fork.to += [start + 1, len(self.steps)]
            return
        forks: list[Fork] = []
        for _ in range(most - least):
            forks.append(Fork([len(self.steps) + 1]))
            self.steps.append(forks[-1])
            self.add(inner, flags)
        for fork in forks:
            fork.to.append(len(self.steps))


def _class(sign: str) -> str:
    """All of a character that matters to what comes after it."""
    return "w" if sign in _WORD else sign if sign in ("", "\n") else "-"


def _test(code: Json, argument: Json, flags: int) -> Test:
    if code is op.LITERAL:
        return chr(argument).__eq__
    if code is op.NOT_LITERAL:
        return chr(argument).__ne__
    if code is op.ANY:
        return (lambda _: True) if flags & re.DOTALL else "\n".__ne__
    if code is op.IN:
        tests = list(_members(argument))
        negated = argument[0][0] is op.NEGATE
        return lambda sign: any(test(sign) for test in tests) is not negated
    # What looks ahead or behind, or at what was matched before, needs to go back.
    raise BadPattern("invalid or unsupported Perl syntax")


def _members(argument: Json) -> Iterator[Test]:
    for code, member in argument:
        if code is op.LITERAL:
            yield chr(member).__eq__
        elif code is op.RANGE:
            yield _between(chr(member[0]), chr(member[1]))
        elif code is op.CATEGORY:
            yield _category(member)


def _between(first: str, last: str) -> Test:
    return lambda sign: first <= sign <= last


def _category(name: Json) -> Test:
    if name in _OPPOSITES:
        members = _CATEGORIES[_OPPOSITES[name]]
        return lambda sign: sign not in members
    return _CATEGORIES[name].__contains__


def _folded(test: Test, flags: int) -> Test:
    if not flags & re.IGNORECASE:
        return test
    return lambda sign: test(sign) or test(sign.lower()) or test(sign.upper())


def _place(name: Json, flags: int) -> Where:
    lines = bool(flags & re.MULTILINE)
    if name in (op.AT_BEGINNING, op.AT_BEGINNING_STRING):
        ends = ("", "\n") if lines and name is op.AT_BEGINNING else ("",)
        return lambda before, _after: before in ends
    if name in (op.AT_END, op.AT_END_STRING):
        ends = ("", "\n") if lines and name is op.AT_END else ("",)
        return lambda _before, after: after in ends
    wanted = name is op.AT_BOUNDARY
    return lambda before, after: ((before in _WORD) is not (after in _WORD)) is wanted
