"""What a pod says about itself and its containers: pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from isthmus.embedded.machine.objects import Container
from isthmus.model.objects import Condition
from isthmus.model.times import second_time
from isthmus.model.wire import JsonObject

_ALWAYS = ("PodReadyToStartContainers", "Initialized", "PodScheduled")
_READY = ("Ready", "ContainersReady")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a container's process has ended the last time."""

    code: int
    began: datetime
    ended: datetime

    def shown(self) -> JsonObject:
        # What a signal has ended says so as shells do: 128 and its number.
        code = 128 - self.code if self.code < 0 else self.code
        return {
            "exitCode": code,
            "reason": "Error" if code else "Completed",
            "startedAt": second_time(self.began),
            "finishedAt": second_time(self.ended),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """A container as it is now; it runs since ``began``, or waits for a ``reason``."""

    began: datetime | None = None
    is_ready: bool = False
    reason: str = "ContainerCreating"
    message: str = ""
    restarts: int = 0
    last: Ending | None = None

    def running(self, began: datetime, is_ready: bool) -> "State":
        return replace(self, began=began, is_ready=is_ready, reason="", message="")

    def waiting(self, why: str) -> "State":
        """It could not be started."""
        return replace(self, began=None, is_ready=False, reason="RunContainerError", message=why)

    def crashed(self, last: Ending, wait: float) -> "State":
        """It has ended, and is started again after so many seconds."""
        return State(
            reason="CrashLoopBackOff",
            message=f"back-off {wait:g}s restarting failed container",
            restarts=self.restarts + 1,
            last=last,
        )

    def shown(self, container: Container) -> JsonObject:
        if self.began is not None:
            state: JsonObject = {"running": {"startedAt": second_time(self.began)}}
        else:
            told = {"message": self.message} if self.message else {}
            state = {"waiting": {"reason": self.reason, **told}}
        return {
            "name": container.name,
            "image": container.image,
            "imageID": "",
            "ready": self.is_ready,
            "started": self.began is not None,
            "restartCount": self.restarts,
            "state": state,
            "lastState": {"terminated": self.last.shown()} if self.last else {},
        }


def conditions(
    before: Iterable[Condition], states: Iterable[State], now: datetime
) -> tuple[Condition, ...]:
    """The pod's conditions; each keeps its time for as long as it says the same."""
    held = {one.type: one for one in before}
    is_ready = all(one.is_ready for one in states)
    said = {**dict.fromkeys(_ALWAYS, True), **dict.fromkeys(_READY, is_ready)}
    return tuple(
        _condition(held.get(name), name, "True" if value else "False", now)
        for name, value in said.items()
    )


def _condition(held: Condition | None, name: str, value: str, now: datetime) -> Condition:
    if held is not None and held.status == value:
        return held
    reason = "ContainersNotReady" if value == "False" else ""
    return Condition(type=name, status=value, reason=reason, last_transition_time=second_time(now))


def status(
    address: str,
    said: Iterable[Condition],
    states: Mapping[Container, State],
    began: datetime,
) -> JsonObject:
    """A pod's status, at its ``address``; it has run since ``began``."""
    is_running = any(one.began is not None or one.last is not None for one in states.values())
    return {
        "phase": "Running" if is_running else "Pending",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "hostIP": "127.0.0.1",
        "hostIPs": [{"ip": "127.0.0.1"}],
        "startTime": second_time(began),
        "conditions": [_shown(one) for one in said],
        "containerStatuses": [one.shown(container) for container, one in states.items()],
    }


def _shown(one: Condition) -> JsonObject:
    reason = {"reason": one.reason} if one.reason else {}
    time = one.last_transition_time
    return {"type": one.type, "status": one.status, "lastTransitionTime": time, **reason}
