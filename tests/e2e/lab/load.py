"""Calls without a pause, from a pod: what a user of the mirrors would notice of any trouble."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from lab import objects
from lab.stage import PATIENCE, Stage, until

# Each line that the pod logs is a call: on a connection of its own, or on one that is kept. The log
# is there for whoever asks later, when there is an API server again.
CALLS = """\
say='%{http_code} %{num_connects} %{time_total} %{errormsg}'
call() { kind=$1; shift; curl -s -m 5 -o /dev/null -w "$kind $say\\n" "$@"; }
(while true; do call kept --rate 10/s 'URL/?[1-100000]'; sleep 0.1; done) &
while true; do call new URL; sleep 0.1; done
"""
LINE = re.compile(r"^(new|kept) (\d{3}) (\d+) ([\d.]+) ?(.*)$")


@dataclass(frozen=True, slots=True)
class Call:
    kept: bool  # whether it could use a connection that was there
    status: int  # 0: no answer
    connects: int
    seconds: float
    error: str


@dataclass(frozen=True, slots=True)
class Load:
    stage: Stage
    pod: str
    begun: int = 0  # calls before this one do not count

    def calls(self) -> list[Call]:
        """All calls since the story began."""
        found = self._calls_if_any()[self.begun :]
        assert found, "the log of those who call cannot be read"
        return found

    def _calls_if_any(self) -> list[Call]:
        text = self.stage.shell(f"kubectl --context east logs {self.pod}").output
        found = filter(None, map(LINE.match, text.splitlines()))
        return [
            Call(one[1] == "kept", int(one[2]), int(one[3]), float(one[4]), one[5]) for one in found
        ]

    def goes_on(self, *, for_calls: int = 20) -> None:
        """Wait until that many further calls of each kind have gone well, one after the other."""
        before = len(self._calls_if_any())

        def both_well(calls: list[Call]) -> bool:
            # A pod that was started anew has a new log.
            new = calls[before:] if len(calls) >= before else calls
            last = [[one for one in new if one.kept == kept][-for_calls:] for kept in (True, False)]
            return all(len(some) == for_calls and well(some) for some in last)

        until(self._calls_if_any, both_well, within=2 * PATIENCE)


def well(calls: list[Call]) -> bool:
    return failed(calls) == []


def failed(calls: list[Call]) -> list[str]:
    """Those that went wrong, and which of how many each one was."""
    return [
        f"{number} of {len(calls)}: {call}"
        for number, call in enumerate(calls)
        if call.status != 200
    ]


@contextmanager
def calling(stage: Stage, url: str, pod: str = "load") -> Iterator[Load]:
    """Call ``url`` from a pod of east, about ten times a second in each of two ways."""
    stage.apply("east", objects.caller(pod, CALLS.replace("URL", url)))
    try:
        stage.kubectl("east", "wait", "--for=condition=Ready", f"pod/{pod}", "--timeout=120s")
        # A pod may call a moment before the egress has been told who it is.
        starting = Load(stage, pod)
        starting.goes_on()
        yield replace(starting, begun=len(starting.calls()))
    finally:
        stage.kubectl("east", "delete", "pod", pod)
