"""What ``isthmus why`` has found, for people and for scripts."""

from collections.abc import Iterator

from isthmus.cli import render
from isthmus.cli.checking.asking import Answer
from isthmus.cli.checking.evidence.sites import Unseen
from isthmus.cli.checking.walking.steps import Step
from isthmus.cli.checking.walking.walk import first_broken
from isthmus.cli.render import Style
from isthmus.model.quoting import one_line
from isthmus.model.wire import JsonObject

_MARKS = {"ok": ("√", "32"), "broken": ("×", "31"), "unknown": ("?", "33")}  # noqa: RUF001
_LONGEST = 1000  # characters of a detail
_WIDTH = 10  # of the names of steps


def rendered(answer: Answer, output: str, style: Style) -> str:
    if output in ("json", "yaml"):
        return render.document(_document(answer), output)
    return "\n".join(_lines(answer, style)) + "\n"


def _lines(answer: Answer, style: Style) -> Iterator[str]:
    # What another cluster says of itself, its name too, must not reach the terminal as it is.
    yield style.bold(one_line(_title(answer), _LONGEST))
    for step in answer.steps:
        sign, code = _MARKS[step.outcome]
        detail = one_line(step.detail, _LONGEST)
        shown = style.faint(detail) if step.outcome == "ok" else detail
        yield f"{style.paint(code, sign)} {step.name.ljust(_WIDTH)} {shown}".rstrip()
    yield ""
    for why in _unseen(answer):
        yield f"not looked at: {why}"
    found = first_broken(answer.steps)
    if found is not None:
        yield style.paint("31", one_line(f"{found.name} is broken: {found.reason}", _LONGEST))
        yield f"    {one_line(found.detail, _LONGEST)}"
        for name, text in (("fix", found.fix), ("hint", found.hint)):
            if text:
                yield f"    {name}: {one_line(text, _LONGEST)}"
    elif any(step.outcome == "unknown" for step in answer.steps):
        yield "Nothing is broken in what could be looked at."
    else:
        yield style.paint("32", "Everything is well.")


def _title(answer: Answer) -> str:
    case = answer.case
    called = case.called
    pod = f"{called.hostname}." if called.hostname and not called.is_sample else ""
    return (
        f"{pod}{called.export.name} in namespace {called.export.namespace} of {case.there}, "
        f"called from {case.here} as {pod}{called.mirror.name}"
    )


def _unseen(answer: Answer) -> Iterator[str]:
    case = answer.case
    for name, side in ((case.here, case.source), (case.there, case.target)):
        if isinstance(side, Unseen):
            yield one_line(f"{name}: {side.why}", _LONGEST)


def _document(answer: Answer) -> JsonObject:
    case, found = answer.case, first_broken(answer.steps)
    document: JsonObject = {
        "export": str(case.called.export),
        "mirror": str(case.called.mirror),
        "from": case.source_name,
        "to": case.target_name,
    }
    if case.called.hostname:
        document["pod"] = case.called.hostname
    if case.called.account:
        document["account"] = case.called.account
    document["works"] = found is None
    if found is not None:
        document["broken"] = _step(found)
    document["steps"] = [_step(one) for one in answer.steps]
    document["unseen"] = list(_unseen(answer))
    return document


def _step(step: Step) -> JsonObject:
    shown = {
        "step": step.name,
        "outcome": step.outcome,
        "reason": step.reason,
        "detail": step.detail,
        "fix": step.fix,
        "hint": step.hint,
    }
    return {key: value for key, value in shown.items() if value}
