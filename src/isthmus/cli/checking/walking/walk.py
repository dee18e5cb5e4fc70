"""The whole way of a call, in its order, and what to make of it."""

from collections.abc import Sequence

from isthmus.cli.checking.evidence.calls import Case
from isthmus.cli.checking.walking import meeting, mirroring, offering, serving, trusting
from isthmus.cli.checking.walking.steps import Step

# What comes first explains what comes later: that is why trust and the gateway stand before the
# catalogue, which needs both.
WAY = (
    offering.export,
    offering.selector,
    offering.granted,
    meeting.link,
    trusting.trust,
    meeting.gateway,
    meeting.catalogue,
    mirroring.mirror,
    mirroring.leads,
    mirroring.listens,
    serving.route,
    serving.endpoints,
    meeting.probe,
)


def walk(case: Case) -> tuple[Step, ...]:
    """Look at every step, those behind a broken one, too: they may be broken on their own."""
    return tuple(step(case) for step in WAY)


def first_broken(steps: Sequence[Step]) -> Step | None:
    return next((one for one in steps if one.outcome == "broken"), None)
