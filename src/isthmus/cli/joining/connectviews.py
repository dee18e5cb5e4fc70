"""What ``isthmus connect`` has to show in the end."""

from isthmus.cli import render
from isthmus.cli.joining.connecting import GO_ON, Outcome, Step
from isthmus.cli.joining.verdicts import Verdict
from isthmus.kube.resources import LINKS
from isthmus.model.quoting import one_line
from isthmus.model.wire import JsonObject

_LONGEST = 500  # characters of what another cluster says


def rendered(outcome: Outcome, output: str) -> str:
    """What is connected now, in a sentence for each way; or everything as data."""
    if output != "table":
        objects = [_object(step, verdict) for step, verdict in outcome.stands]
        return render.document({"connected": outcome.is_good, "objects": objects}, output)
    lines = [
        f"{step.end.name} imports what {step.name} exports\n"
        for step, verdict in outcome.stands
        if outcome.is_good and step.change.resource.kind == LINKS.kind
    ]
    return "".join(lines)


def trouble(outcome: Outcome, waited: float) -> str:
    """Why it is not connected, and the way out."""
    lines = []
    for step, verdict in outcome.stands:
        if not verdict.is_good:
            lines.append(f"{step} is not ready: {one_line(str(verdict), _LONGEST)}")
            lines += [f"  hint: {verdict.hint}"] if verdict.hint else []
    end = "" if outcome.is_final else f" after {waited:g} s"
    return "\n".join((*lines, f"isthmus: not connected{end}; {GO_ON}"))


def _object(step: Step, verdict: Verdict) -> JsonObject:
    shown: JsonObject = {
        "context": step.end.side.context,
        "cluster": step.end.name,
        "kind": step.change.resource.kind,
        "name": step.name,
        "outcome": step.change.outcome,
        "ready": verdict.is_good,
        "reason": verdict.reason,
        "message": one_line(verdict.message, _LONGEST),
    }
    return shown | {"hint": verdict.hint} if verdict.hint and not verdict.is_good else shown
