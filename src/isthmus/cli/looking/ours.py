"""Our own pods in a cluster, and the numbers that they show."""

from collections.abc import Sequence
from dataclasses import dataclass

from isthmus.cli.checking.evidence.objects import PODS, Pod
from isthmus.cli.checking.evidence.sites import ROLES
from isthmus.cli.checking.reading.looks import all_of
from isthmus.cli.installation import NotInstalled
from isthmus.cli.looking import exposition
from isthmus.cli.looking.exposition import Numbers
from isthmus.kube import pods
from isthmus.kube.client import Client
from isthmus.kube.errors import Garbled
from isthmus.kube.requests import Selection
from isthmus.model.errors import IsthmusError
from isthmus.model.objects import Key
from isthmus.runtime.clock import Clock

RUNNING = "Running"


@dataclass(frozen=True, slots=True)
class Own:
    """A pod of ours that runs."""

    key: Key
    role: str
    image: str


@dataclass(frozen=True, slots=True)
class Page:
    """Where a pod shows its numbers, and which of them are wanted."""

    port: int
    path: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """What one pod has shown, and when."""

    pod: Own
    at: float
    numbers: Numbers


@dataclass(frozen=True, slots=True)
class Readings:
    """What all pods have shown; ``unread`` has, for each other one, why it has not."""

    readings: tuple[Reading, ...]
    unread: tuple[IsthmusError, ...]


async def running(client: Client, namespace: str, *roles: str) -> tuple[Own, ...]:
    """Return our own pods of these roles; raise :class:`NotInstalled` if none runs."""
    found = await client.list(PODS, Selection(namespace=namespace))
    own = tuple(
        Own(one.metadata.key, ROLES[one.spec.service_account_name], _image(one))
        for one in sorted(found.objects, key=lambda one: one.metadata.key)
        if one.spec.service_account_name in ROLES
        and one.status.phase == RUNNING
        and one.metadata.deletion_timestamp is None
    )
    chosen = tuple(one for one in own if one.role in roles)
    if not chosen:
        raise NotInstalled(
            f"no {' or '.join(roles)} runs in namespace {namespace}; is Isthmus installed in "
            "another one? Name it with --namespace"
        )
    return chosen


async def read(client: Client, own: Sequence[Own], page: Page, clock: Clock) -> Readings:
    """Read the same page of all pods at once; one that does not answer hides no other."""

    async def reading(pod: Own) -> Reading | IsthmusError:
        try:
            text = await pods.page(client, pod.key, page.port, page.path)
            return Reading(pod, clock.now(), exposition.numbers(text, page.names))
        except exposition.NotNumbers as error:
            return Garbled(f"pod {pod.key} at port {page.port}: {error}")
        except IsthmusError as error:
            return error

    looks = await all_of(map(reading, own))
    return Readings(
        tuple(one for one in looks if isinstance(one, Reading)),
        tuple(one for one in looks if isinstance(one, IsthmusError)),
    )


def _image(pod: Pod) -> str:
    return next((one.image for one in pod.spec.containers), "")
