"""What the demo tells: two clusters are joined, and a pod of one is called by name from the other.

Every line of output is what the typed command really answers, and every answer is checked.
"""

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from isthmus.model.errors import Permanent

PATIENCE = 60.0  # seconds until what should happen must have happened
GLANCE = 0.1  # seconds between two looks at it

_LABEL = "kubectl --context west label service nginx-svc mirror.linkerd.io/exported"

Check: TypeAlias = Callable[[str], bool]


class DoesNotHold(Permanent):
    """A step of the story has another outcome than the one that is told."""


class Teller(Protocol):
    """Where the story is told."""

    def say(self, text: str = "") -> None: ...

    def chapter(self, text: str) -> None: ...

    def typed(self, command: str) -> None: ...


class Shell(Protocol):
    """Where commands are typed."""

    async def run(self, line: str) -> str:
        """Return all that a line of commands prints."""
        ...


@dataclass(frozen=True, slots=True)
class Stage:
    """Where the story is told, and where it happens; ``port`` is where port 80 answers."""

    page: Teller
    shell: Shell
    port: int

    async def do(self, command: str, *expected: str) -> None:
        """Type a command, once; its answer has all of the ``expected`` in it."""
        self.page.typed(command)
        answer = await self.shell.run(command)
        self.page.say(answer)
        self.page.say()
        for one in expected:
            if one not in answer:
                raise DoesNotHold(f"{command}: it should say {one!r}")

    async def see(self, command: str, holds: Check) -> None:
        """Type a command that only asks, and show its answer as soon as it ``holds``."""
        self.page.typed(command)
        clock = asyncio.get_running_loop().time
        deadline = clock() + PATIENCE
        answer = await self.shell.run(command)
        while not holds(answer) and clock() < deadline:
            await asyncio.sleep(GLANCE)
            answer = await self.shell.run(command)
        self.page.say(answer)
        self.page.say()
        if not holds(answer):
            raise DoesNotHold(
                f"{command}: not what it should be after {PATIENCE:g} s; "
                "run the demo with -v to see what controllers and proxies say"
            )

    async def call(self, pod: str, target: str, holds: Check) -> None:
        """Call a pod of west by its name, as ``pod`` of east."""
        url = self.url(f"{target}.nginx-svc-west.default.svc.east.cluster.local")
        await self.see(f"isthmus demo call east/{pod} {url}", holds)

    def url(self, host: str) -> str:
        return f"http://{host}" + (f":{self.port}" if self.is_moved else "")

    @property
    def is_moved(self) -> bool:
        """Whether port 80 is root's, and answers elsewhere."""
        return self.port != 80


async def trust(stage: Stage) -> None:
    """Make the anchor and the issuers, and give them to both clusters."""
    stage.page.chapter(
        "Trust: one anchor, and for each cluster an issuer that can speak for it alone"
    )
    await stage.do("isthmus trust create --out anchor", "anchor/anchor.crt", "anchor/anchor.key")
    for cluster in ("west", "east"):
        await stage.do(
            f"isthmus trust issue --cluster {cluster} --anchor anchor --secret - | "
            f"kubectl --context {cluster} -n isthmus apply --server-side -f -",
            f"Issuer of {cluster}.isthmus",
            "secret/isthmus-issuer serverside-applied",
        )
        await stage.do(
            f"kubectl --context {cluster} -n isthmus create configmap isthmus-trust "
            "--from-file=anchors.pem=anchor/anchor.crt",
            "configmap/isthmus-trust created",
        )


async def installed(stage: Stage) -> None:
    """Show our own workloads."""
    stage.page.chapter("Isthmus runs in both: a controller, and two Envoys, gateway and egress")
    for cluster in ("west", "east"):
        await stage.see(f"kubectl --context {cluster} -n isthmus get pods", _running(3))
    await stage.see("kubectl --context west -n isthmus get services", _has("isthmus-gateway"))


async def tell(stage: Stage) -> None:
    """Link east to west, export, call, refuse, break, mend, grow and clean up."""
    page = stage.page
    page.chapter("West lets pods of east in that run as default/curl, and nobody else")
    await stage.do("cat grant-east.yaml", "kind: Grant")
    await stage.do(
        "kubectl --context west apply -f grant-east.yaml", "grant.isthmus.dev/east created"
    )
    await stage.see("kubectl --context west get grants", _row("east", accepted="True"))

    page.chapter("East imports what west exports. There is no credential in a Link")
    await stage.do("cat link-west.yaml", "kind: Link")
    await stage.do(
        "kubectl --context east apply -f link-west.yaml", "link.isthmus.dev/west created"
    )
    await stage.see("kubectl --context east get links", _row("west", ready="True", gateway="True"))

    page.chapter("A StatefulSet in west, and two pods in east that may want to call it")
    page.say("A small HTTP server stands in for nginx; it says who it is, and what it is told.")
    page.say()
    await stage.do(
        "kubectl --context west apply -f nginx.yaml", "statefulset.apps/nginx-set created"
    )
    await stage.do("kubectl --context east apply -f callers.yaml", "pod/stranger created")
    await stage.see("kubectl --context west get pods", _running(3))
    await stage.see("kubectl --context east get pods", _running(2))

    page.chapter("Export it")
    await stage.do(f"{_LABEL}=true", "service/nginx-svc labeled")
    await stage.see("kubectl --context east get services", _mirrors(3))

    page.chapter("Call a pod of west by its name, from a pod of east")
    if stage.is_moved:
        page.say(f"Low ports are root's on this machine, so that port 80 answers at {stage.port}:")
        page.say()
    await stage.call("curl", "nginx-set-0", _answered_by("nginx-set-0"))
    page.say("It is that very pod that answers, and it is told who called: the URI at the end is")
    page.say("the identity that east's issuer vouches for and west's gateway has verified.")
    page.say()
    await stage.call("curl", "nginx-set-2", _answered_by("nginx-set-2"))

    page.chapter("Who has no Grant is refused")
    await stage.call("stranger", "nginx-set-0", _begins("HTTP 403"))

    page.chapter("West's gateway goes away. The mirrors stay")
    scale = "kubectl --context west -n isthmus scale deployment isthmus-gateway --replicas"
    await stage.do(f"{scale}=0", "deployment.apps/isthmus-gateway scaled")
    await stage.see("kubectl --context east get links", _row("west", gateway="False"))
    await stage.see("kubectl --context east get services", _mirrors(3))
    page.say("But they lead nowhere for now, so that callers hear of it at once:")
    page.say()
    await stage.call("curl", "nginx-set-0", _has("no such name"))

    page.chapter("It comes back, and so do the answers")
    await stage.do(f"{scale}=1", "deployment.apps/isthmus-gateway scaled")
    await stage.see("kubectl --context east get links", _row("west", gateway="True"))
    await stage.call("curl", "nginx-set-0", _answered_by("nginx-set-0"))

    page.chapter("The StatefulSet grows, and its mirrors with it")
    await stage.do(
        "kubectl --context west scale statefulset nginx-set --replicas=5",
        "statefulset.apps/nginx-set scaled",
    )
    await stage.see("kubectl --context east get services", _mirrors(5))
    await stage.call("curl", "nginx-set-4", _answered_by("nginx-set-4"))

    page.chapter("What is not exported any more is gone")
    await stage.do(f"{_LABEL}-", "service/nginx-svc unlabeled")
    await stage.see("kubectl --context east get services", _mirrors(None))
    await stage.call("curl", "nginx-set-0", _has("no such name"))


async def again(stage: Stage) -> None:
    """Leave something to call to whoever stays."""
    stage.page.chapter("For those who stay, it is exported once more")
    await stage.do(f"{_LABEL}=true", "service/nginx-svc labeled")
    await stage.see("kubectl --context east get services", _mirrors(5))


def _rows(answer: str) -> dict[str, list[str]]:
    """The lines of a table below its head, by their first word."""
    rows = (line.split() for line in answer.splitlines()[1:])
    return {row[0]: row for row in rows if row}


def _has(text: str) -> Check:
    return lambda answer: text in answer


def _begins(text: str) -> Check:
    return lambda answer: answer.startswith(text)


def _running(pods: int) -> Check:
    def check(answer: str) -> bool:
        rows = _rows(answer).values()
        return len(rows) == pods and all(row[1:3] == ["1/1", "Running"] for row in rows)

    return check


def _row(name: str, **wanted: str) -> Check:
    """The columns of an object say what is wanted."""

    def check(answer: str) -> bool:
        head = answer.partition("\n")[0].lower().split()
        row = dict(zip(head, _rows(answer).get(name, []), strict=False))
        return all(row.get(column) == value for column, value in wanted.items())

    return check


def _mirrors(pods: int | None) -> Check:
    """There are mirrors for exactly so many pods and their Service; None: nothing of them."""
    named = {f"nginx-set-{number}-west" for number in range(pods or 0)}
    wanted = named | ({"nginx-svc-west"} if pods is not None else set())

    def check(answer: str) -> bool:
        return {name for name in _rows(answer) if name.endswith("-west")} == wanted

    return check


def _answered_by(pod: str) -> Check:
    """That very pod has answered, and was told that default/curl of east has called."""

    def check(answer: str) -> bool:
        status, *lines = answer.splitlines()
        caller = re.search(r"^x-forwarded-client-cert: .*;URI=(\S+)$", answer, re.MULTILINE)
        return (
            status == "HTTP 200 OK"
            and lines[:1] == [f"Welcome, this is {pod}"]
            and caller is not None
            and caller[1] == "spiffe://east.isthmus/ns/default/sa/curl"
        )

    return check
