"""Whatever users of both clusters do, whatever fails meanwhile: what stands is what the model says.

Every step is an act of a user together with some trouble, and then a while in which all has to
settle. Hypothesis makes the histories up and shortens those that fail. ``ISTHMUS_HISTORIES=200``
plays so many of them, and longer ones.
"""

import asyncio
import os
from collections.abc import Coroutine
from typing import TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from isthmus.kube.errors import AlreadyExists
from isthmus.model.names import LINK_UID
from isthmus.model.wire import JsonObject
from tests.apps.clusters import LINKS, PLAIN_NAMESPACES, SERVICES, SLICES, foreign
from tests.crash.portrait import strangers
from tests.stateful.contract import Export, Link, Mirrors, Name, Pod, Refusals, Source, expected
from tests.stateful.world import TARGETS, World, world
from tests.support.virtual import VirtualLoop

T = TypeVar("T")

MANY = int(os.environ.get("ISTHMUS_HISTORIES", "0"))
# A Service may be called like a pod of another one, and two sets may have pods of one name.
KEYS = st.builds(
    Name, st.sampled_from(["default", "default", "shop"]), st.sampled_from(["db", "db-0", "web"])
)
PODS = st.lists(
    st.builds(Pod, st.sampled_from(["db-0", "db-1", "web-0", ""]), st.booleans()),
    max_size=3,
    unique_by=lambda pod: pod.hostname or id(pod),
).map(tuple)
EXPORTS = st.builds(
    Export,
    ports=st.sampled_from([(80,), (81,), (80, 81)]),
    labels=st.sampled_from([("exported",), ("exported", "team"), ("team",), ()]).map(frozenset),
    headless=st.booleans(),
    pods=PODS,
)
TROUBLE = st.sampled_from(
    ["", "", "", "disconnected", "errors", "lost answers", "restarted", "killed", "targets away"]
)
CLUSTERS = st.sampled_from(TARGETS)
MARKED = frozenset({"exported"})
BEGINNING = (
    ("west", Name("default", "db"), Export((80,), MARKED, True, (Pod("db-0"), Pod("db-1")))),
    ("west", Name("default", "web"), Export((80,), MARKED, False, (Pod("web-0"),))),
    ("north", Name("default", "web"), Export((81,), MARKED, False, (Pod("web-0"),))),
)


class Histories(RuleBasedStateMachine):
    """Two clusters, and what the model knows of them."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner(loop_factory=VirtualLoop)
        self.exports: dict[str, dict[Name, Export]] = {name: {} for name in TARGETS}
        self.links: dict[str, Link] = {}
        self.namespaces = {"default"}
        self.taken: set[Name] = set()
        self.granted: tuple[str, ...] | None = None
        self.before: Mirrors = {}
        self.world: World | None = None

    def do(self, act: Coroutine[object, object, T]) -> T:
        return self.runner.run(act)

    @property
    def here(self) -> World:
        assert self.world is not None
        return self.world

    def teardown(self) -> None:
        if self.world is not None:
            self.do(self.world.close())
        self.runner.close()

    @initialize(headless=st.booleans())
    def two_links(self, headless: bool) -> None:
        self.world = self.do(world())
        for cluster, key, export in BEGINNING:  # something to quarrel about from the first step on
            self.exports[cluster][key] = export
            self.do(self.here.serve(cluster, key, export))
        for cluster in TARGETS:
            self.links[cluster] = self.do(self.here.link(cluster, "exported", headless=headless))
            self.do(asyncio.sleep(2))  # the age of links is told in seconds
        self.settle("")

    # What users of a target do.

    @rule(cluster=CLUSTERS, key=KEYS, export=EXPORTS, trouble=TROUBLE)
    def serve(self, cluster: str, key: Name, export: Export, trouble: str) -> None:
        known = self.exports[cluster].get(key)
        if known is not None and known.headless != export.headless:
            # It has to be made anew. Whoever looks in between may give its name to another one;
            # here everybody looks.
            self.withdraw(cluster, key, "")
        self.exports[cluster][key] = export
        self.do(self.here.serve(cluster, key, export))
        self.settle(trouble)

    @rule(cluster=CLUSTERS, key=KEYS, pods=PODS, trouble=TROUBLE)
    def scale(self, cluster: str, key: Name, pods: tuple[Pod, ...], trouble: str) -> None:
        known = self.exports[cluster].get(key)
        if known is not None:
            self.serve(
                cluster, key, Export(known.ports, known.labels, known.headless, pods), trouble
            )

    @rule(cluster=CLUSTERS, key=KEYS, trouble=TROUBLE)
    def withdraw(self, cluster: str, key: Name, trouble: str) -> None:
        if self.exports[cluster].pop(key, None) is not None:
            self.do(self.here.withdraw(cluster, key))
            self.settle(trouble)

    @rule(granted=st.sampled_from([None, ("shop",), ("default",), ("elsewhere",)]), trouble=TROUBLE)
    def grant(self, granted: tuple[str, ...] | None, trouble: str) -> None:
        self.granted = granted
        self.do(self.here.grant(granted))
        self.settle(trouble)

    # What users of the source do.

    @rule(
        cluster=CLUSTERS,
        selector=st.sampled_from(["exported", "team"]),
        headless=st.booleans(),
        trouble=TROUBLE,
    )
    def link(self, cluster: str, selector: str, headless: bool, trouble: str) -> None:
        self.links[cluster] = self.do(self.here.link(cluster, selector, headless=headless))
        self.settle(trouble)

    @rule(cluster=CLUSTERS, trouble=TROUBLE)
    def unlink(self, cluster: str, trouble: str) -> None:
        if self.links.pop(cluster, None) is not None:
            self.do(self.here.east.delete(LINKS, cluster))
            self.settle(trouble)

    @rule(trouble=TROUBLE)
    def make_or_remove_the_namespace(self, trouble: str) -> None:
        if "shop" in self.namespaces:
            self.namespaces.remove("shop")
            self.taken = {one for one in self.taken if one.namespace != "shop"}
            self.do(self.here.east.delete(PLAIN_NAMESPACES, "shop"))
        else:
            self.namespaces.add("shop")
            self.do(self.here.east.create(PLAIN_NAMESPACES, {"metadata": {"name": "shop"}}))
        self.settle(trouble)

    @rule(key=KEYS, trouble=TROUBLE)
    def take_a_name(self, key: Name, trouble: str) -> None:
        """Somebody makes a Service of their own where a mirror could be, or has been."""
        name = Name(key.namespace, f"{key.name}-west")
        if name.namespace not in self.namespaces or name in self.taken:
            return
        self.do(self._take(name))
        self.settle(trouble)

    async def _take(self, name: Name) -> None:
        if name in self.before:
            await self.here.east.delete(SERVICES, name.name, name.namespace)
        try:
            await self.here.east.create(SERVICES, foreign(name.name, name.namespace))
        except AlreadyExists:
            return  # the controller was quicker
        self.taken.add(name)

    @precondition(lambda self: self.taken)
    @rule(data=st.data(), trouble=TROUBLE)
    def free_a_name(self, data: st.DataObject, trouble: str) -> None:
        name = data.draw(st.sampled_from(sorted(self.taken)))
        self.taken.remove(name)
        self.do(self.here.east.delete(SERVICES, name.name, name.namespace))
        self.settle(trouble)

    @precondition(lambda self: self.before)
    @rule(
        data=st.data(),
        how=st.sampled_from(["edit", "delete", "delete its slice", "make it one's own"]),
        trouble=TROUBLE,
    )
    def meddle(self, data: st.DataObject, how: str, trouble: str) -> None:
        name = data.draw(st.sampled_from(sorted(self.before)))
        self.do(self._meddle(name, how))
        self.settle(trouble)

    async def _meddle(self, name: Name, how: str) -> None:
        east, where = self.here.east, name.namespace
        match how:
            case "edit":
                spec: JsonObject = {"ports": [{"port": 22}]}
                if not self.before[name].headless:  # there the API refuses it on one family
                    spec["selector"] = {"app": "evil"}
                patch = {"metadata": {"labels": {"team": "evil"}}, "spec": spec}
                await east.edit(SERVICES, name.name, patch, where)
            case "delete":
                await east.delete(SERVICES, name.name, where)
            case "delete its slice":
                await east.delete(SLICES, f"{name.name}-ipv4", where)
            case _:
                patch = {"metadata": {"annotations": {LINK_UID: None}, "labels": None}}
                await east.edit(SERVICES, name.name, patch, where)
                self.taken.add(name)

    @rule(kind=TROUBLE)
    def only_trouble(self, kind: str) -> None:
        self.settle(kind)

    # What must hold.

    def settle(self, trouble: str) -> None:
        theirs = strangers(self.here.east)
        self.do(self.here.trouble(trouble))
        links = tuple(self._informed(link) for link in self.links.values())
        source = Source(frozenset(self.namespaces), frozenset(self.taken), links)
        wanted, refused = expected(source, self.before)

        def is_right(found: Mirrors, why: Refusals) -> bool:
            return found == wanted and why <= refused and _told(why) == _told(refused)

        self.do(self.here.settled(is_right, self.links.keys()))
        assert self.do(self.here.mirrors()) == wanted
        told = self.do(self.here.refusals())
        assert told <= refused  # for a reason that it has
        assert _told(told) == _told(refused)
        assert self.do(self.here.strays()) == set()
        assert strangers(self.here.east) == theirs
        self.before = wanted

    def _informed(self, link: Link) -> Link:
        """The link with what it can see of its target."""
        seen = self.exports[link.cluster]
        if link.cluster == "north":
            seen = {key: one for key, one in seen.items() if self._is_shown(key, one)}
        return Link(link.cluster, link.age, link.selector, link.headless, link.naming, seen)

    def _is_shown(self, key: Name, export: Export) -> bool:
        is_granted = self.granted is None or key.namespace in self.granted
        return is_granted and "exported" in export.labels


def _told(refused: Refusals) -> set[tuple[str, Name]]:
    """Which exports are not mirrored as they should be; each is told with one of its reasons."""
    return {(link, key) for link, key, _ in refused}


TestHistories = Histories.TestCase
TestHistories.settings = settings(
    max_examples=MANY or 12,
    stateful_step_count=60 if MANY else 20,
    deadline=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)
