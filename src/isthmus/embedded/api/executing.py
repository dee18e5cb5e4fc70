"""Commands inside of pods: the subresource ``exec``, for whoever runs the pods to carry out."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from isthmus.embedded.api.calls import Call
from isthmus.embedded.kinds.refusals import bad_request, not_found
from isthmus.embedded.state.plane import Plane
from isthmus.model.objects import Key

LONGEST = 10_000  # characters of a command


@dataclass(frozen=True, slots=True)
class Execution:
    """What is to be run, and in which pod."""

    pod: Key
    command: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Output:
    """What a command has printed, and the code that it has ended with."""

    out: str = ""
    err: str = ""
    code: int = 0


Execute: TypeAlias = Callable[[Execution], Awaitable[Output]]


def execution(plane: Plane, call: Call, query: Iterable[tuple[str, str]]) -> Execution:
    """Return what ``call`` asks for; all words of the command have the same name in its query."""
    namespace, name = call.route.namespace, call.route.name
    pod = plane.find("", "pods", namespace, name)
    if pod is None:
        raise not_found(call.kind, name)
    command = tuple(value for key, value in query if key == "command")
    if not command or sum(map(len, command)) > LONGEST:
        raise bad_request("you must specify at least 1 command for the container")
    container = call.query.get("container", "")
    if container and container not in (one["name"] for one in pod["spec"]["containers"]):
        raise bad_request(f"container {container} is not valid for pod {name}")
    return Execution(Key(namespace, name), command)
