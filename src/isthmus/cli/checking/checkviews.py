"""What ``isthmus check`` has found, for people and for scripts."""

from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby

from isthmus.cli import render
from isthmus.cli.checking.checks import Check, failed
from isthmus.cli.render import Style
from isthmus.model.quoting import one_line
from isthmus.model.wire import JsonObject

_MARKS = {
    "ok": ("√", "32"),
    "warning": ("‼", "33"),
    "error": ("×", "31"),  # noqa: RUF001  # the sign that all checks of this family use
}
_LONGEST = 2000  # characters; two certificates side by side take half of it
_LONGEST_GROUP = 200


def rendered(found: Sequence[Check], output: str, style: Style) -> str:
    """The results of ``isthmus check``."""
    if output in ("json", "yaml"):
        return render.document(_as_document(found), output)
    if output == "short":
        lines = [line for check in found if check.outcome != "ok" for line in _lines(check, style)]
    else:
        lines = []
        for group, members in groupby(found, key=lambda check: check.group):
            title = one_line(group, _LONGEST_GROUP)
            lines += [style.bold(title), "-" * len(title)]
            lines += [line for check in members for line in _lines(check, style)]
            lines.append("")
    lines.append(f"Status check results are {_mark('error' if failed(found) else 'ok', style)}")
    return "\n".join(lines) + "\n"


def _as_document(found: Sequence[Check]) -> JsonObject:
    shown = [{key: value for key, value in asdict(check).items() if value} for check in found]
    return {"success": not failed(found), "checks": shown}


def _mark(outcome: str, style: Style) -> str:
    sign, code = _MARKS[outcome]
    return style.paint(code, sign)


def _lines(check: Check, style: Style) -> list[str]:
    # What a server says of itself must not reach the terminal as it is; names and hints quote it.
    name, detail, hint = (
        one_line(text, _LONGEST) for text in (check.name, check.detail, check.hint)
    )
    said = f"{_mark(check.outcome, style)} {name}"
    if check.outcome == "ok":
        return [f"{said} {style.faint(f'({detail})')}" if detail else said]
    lines = [said, f"    {detail}"]
    return [*lines, f"    hint: {hint}"] if hint else lines
