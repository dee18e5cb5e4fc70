"""Rotations under lag, crashes, silence, new pods and changed minds cut nobody off, and end."""

from collections.abc import Callable
from datetime import timedelta
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus.pki.rotation import (
    FRESH,
    Distribute,
    Done,
    Drop,
    Reissue,
    Rotation,
    Step,
    Wait,
    next_step,
)
from isthmus.pki.seen import Report, Seen, with_reading, with_report
from tests.pki.mesh import NEW, OLD, Mesh, Pod, rotation

CLUSTERS = ("east", "west")
MINUTE = timedelta(minutes=1)
TICKS = 150
EXAMPLES = 80


class Driver:
    """Who carries a rotation out, as far as it can see."""

    def __init__(self, mesh: Mesh, plan: Rotation) -> None:
        self.mesh = mesh
        self.plan = plan
        self.seen: Seen = {}

    def read(self, cluster: str) -> None:
        self.seen = with_reading(self.seen, cluster, self.mesh.reading(cluster))

    def hear(self, pod: Pod) -> None:
        self.seen = with_report(self.seen, pod.cluster, pod.name, pod.report(self.mesh.now))

    def look(self) -> None:
        for cluster in self.mesh.places:
            self.read(cluster)
        for pod in self.mesh.pods.values():
            self.hear(pod)

    def step(self) -> Step:
        return next_step(self.plan, self.seen, self.mesh.now)

    def drive(self) -> Step:
        step = self.step()
        self.mesh.perform(step)
        if isinstance(step, Distribute | Reissue | Drop):
            self.read(step.cluster)
        return step


def caught_up(mesh: Mesh, without: int = -1) -> None:
    """Let every pod but one learn what is current."""
    pods = [pod for number, pod in enumerate(mesh.pods.values()) if number != without]
    for pod in pods:
        mesh.deliver(pod)
        mesh.reload(pod)
    for pod in pods:
        mesh.ask(pod)
        mesh.receive(pod)


def ending(driver: Driver) -> Step:
    """Let a rotation go on with everybody well, until it is done."""
    step: Step = Wait("distribute", "not begun")
    for _ in range(40):
        driver.look()
        step = driver.drive()
        assert driver.mesh.strangers() == []
        if isinstance(step, Done):
            return step
        caught_up(driver.mesh)
        driver.mesh.now += MINUTE
    return step


def begun() -> Driver:
    mesh = Mesh()
    for cluster in CLUSTERS:
        mesh.add(cluster)
    return Driver(mesh, rotation(*CLUSTERS))


def is_settled(driver: Driver) -> bool:
    goal = driver.plan.goal.fingerprint
    return driver.mesh.in_use() == {goal} and all(
        place.trusts.current == {goal} and place.issuer.current == goal
        for place in driver.mesh.places.values()
    )


def test_the_steps_of_a_rotation_in_which_everybody_is_well() -> None:
    driver = begun()
    steps: list[Step] = []
    while not steps or not isinstance(steps[-1], Done):
        driver.look()
        steps.append(driver.drive())
        caught_up(driver.mesh)
        driver.mesh.now += MINUTE
        assert len(steps) < 40
    assert [step for step in steps if not isinstance(step, Wait)] == [
        Distribute("east", frozenset((NEW,))),
        Distribute("west", frozenset((NEW,))),
        Reissue("east", NEW),
        Reissue("west", NEW),
        Drop("east", OLD),
        Drop("west", OLD),
        Done(),
    ]
    assert [step.phase for step in steps] == sorted(
        (step.phase for step in steps), key=["distribute", "reissue", "drop", "done"].index
    )
    assert is_settled(driver)


def until(wanted: Callable[[Step], bool]) -> Driver:
    """Return a rotation that is about to take a step."""
    driver = begun()
    for _ in range(40):
        driver.look()
        if wanted(driver.step()):
            return driver
        driver.drive()
        caught_up(driver.mesh)
        driver.mesh.now += MINUTE
    raise AssertionError("the step never came")


MOMENTS = [
    pytest.param(wanted, id=name)
    for name, wanted in {
        "at the start": lambda step: isinstance(step, Distribute),
        "half distributed": lambda step: step == Distribute("west", frozenset((NEW,))),
        "before the first issuer": lambda step: isinstance(step, Reissue),
        "between two issuers": lambda step: step == Reissue("west", NEW),
        "before the first drop": lambda step: isinstance(step, Drop),
        "half dropped": lambda step: step == Drop("west", OLD),
        "when it is done": lambda step: isinstance(step, Done),
    }.items()
]


@pytest.mark.parametrize("wanted", MOMENTS)
def test_a_rotation_goes_on_after_a_crash(wanted: Callable[[Step], bool]) -> None:
    before = until(wanted)
    driver = Driver(before.mesh, before.plan)
    assert ending(driver) == Done()
    assert is_settled(driver)
    assert driver.mesh.in_use() == {NEW}


@pytest.mark.parametrize("wanted", MOMENTS)
def test_a_rotation_rolls_back_and_forward_again(wanted: Callable[[Step], bool]) -> None:
    driver = until(wanted)
    driver.plan = driver.plan.roll_back()
    assert ending(driver) == Done()
    assert is_settled(driver)
    assert driver.mesh.in_use() == {OLD}
    driver.plan = driver.plan.roll_forward()
    assert ending(driver) == Done()
    assert driver.mesh.in_use() == {NEW}


@pytest.mark.parametrize("wanted", MOMENTS)
def test_nothing_changes_while_it_is_paused(wanted: Callable[[Step], bool]) -> None:
    driver = until(wanted)
    phase = driver.step().phase
    driver.plan = driver.plan.pause()
    step = driver.step()
    assert isinstance(step, Wait)
    assert step.why == "paused"
    assert step.phase == phase or phase == "done"
    driver.plan = driver.plan.resume()
    assert ending(driver) == Done()


def test_rolling_back_from_new_issuers_returns_to_the_old_one_first() -> None:
    driver = until(lambda step: step == Reissue("west", NEW))
    driver.plan = driver.plan.roll_back()
    assert driver.drive() == Reissue("east", OLD)


@pytest.mark.parametrize(
    "wanted, why",
    [
        pytest.param(
            lambda step: isinstance(step, Reissue), "do not trust both", id="before issuers"
        ),
        pytest.param(lambda step: isinstance(step, Drop), "silent", id="before dropping"),
    ],
)
def test_a_silent_member_is_waited_for(wanted: Callable[[Step], bool], why: str) -> None:
    driver = until(wanted)
    quiet, *others = driver.mesh.pods.values()
    driver.mesh.now += FRESH + MINUTE
    for cluster in CLUSTERS:
        driver.read(cluster)
    for pod in others:
        driver.hear(pod)
    step = driver.step()
    assert isinstance(step, Wait)
    assert step.whom == (f"{quiet.cluster}/{quiet.name}",)
    assert why in step.why


@pytest.mark.parametrize("before", [True, False], ids=["any longer", "at all"])
def test_a_cluster_that_cannot_be_read_is_waited_for(before: bool) -> None:
    driver = begun()
    if before:
        driver.look()
        driver.mesh.now += FRESH + MINUTE
    driver.read("east")
    step = driver.step()
    assert isinstance(step, Wait)
    assert step.whom == ("west",)


@pytest.mark.parametrize("begins, ends", [(1, 2), (-2, -1)], ids=["not yet", "no longer"])
def test_an_anchor_that_does_not_hold_signs_no_issuers(begins: int, ends: int) -> None:
    driver = until(lambda step: isinstance(step, Reissue))
    now = driver.mesh.now
    bad = rotation(*CLUSTERS).new
    bad = type(bad)(
        fingerprint=bad.fingerprint,
        not_before=now + timedelta(days=begins),
        not_after=now + timedelta(days=ends),
    )
    plan = driver.plan
    driver.plan = Rotation(old=plan.old, new=bad, clusters=plan.clusters)
    step = driver.step()
    assert isinstance(step, Wait)
    assert "the anchor new holds from" in step.why


def test_a_proxy_that_stays_silent_is_given_up_when_its_leaf_must_have_ended() -> None:
    driver = until(lambda step: isinstance(step, Reissue))
    lost = proxy(driver)
    others = [pod for pod in driver.mesh.pods.values() if pod is not lost]
    dropped = None
    for _ in range(90):
        for pod in others:
            driver.mesh.reload(pod)
        for pod in others:
            driver.mesh.ask(pod)
            driver.mesh.receive(pod)
        for cluster in CLUSTERS:
            driver.read(cluster)
        for pod in others:
            driver.hear(pod)
        if isinstance(driver.drive(), Drop):
            dropped = driver.mesh.now
            break
        driver.mesh.now += MINUTE
    assert dropped is not None
    assert lost.leaf is not None
    assert not lost.leaf.is_alive(dropped)


def controller(driver: Driver, cluster: str = "east") -> Pod:
    return next(pod for pod in driver.mesh.members(cluster) if pod.signs)


def proxy(driver: Driver, cluster: str = "east") -> Pod:
    return next(pod for pod in driver.mesh.members(cluster) if not pod.signs)


@pytest.mark.parametrize("ends", ["it is replaced", "it learns at last"])
def test_an_answer_of_a_late_controller_may_still_be_on_its_way(ends: str) -> None:
    driver = until(lambda step: isinstance(step, Drop))
    mesh, late = driver.mesh, controller(driver)
    mesh.spawn("east", signs=True)
    late.issuer = OLD  # it has never heard of another
    driver.look()
    mesh.now += MINUTE
    mesh.ask(proxy(driver))
    if ends == "it is replaced":
        del mesh.pods[late.name]
    else:
        mesh.reload(late)
    driver.look()
    mesh.now += MINUTE
    driver.look()
    assert isinstance(driver.drive(), Wait)
    mesh.receive(proxy(driver))
    assert mesh.in_use() == {OLD, NEW}
    assert mesh.strangers() == []
    assert ending(driver) == Done()


def test_a_pod_that_started_unseen_may_have_read_an_older_bundle() -> None:
    driver = begun()
    mesh = driver.mesh
    driver.look()
    while isinstance(driver.step(), Distribute):
        driver.drive()
    mesh.now += MINUTE
    mesh.spawn("east", signs=False, late=1)
    caught_up(mesh, without=len(mesh.pods) - 1)
    mesh.now += 2 * MINUTE
    for pod in mesh.pods.values():
        driver.hear(pod)
    assert driver.step() == Wait(
        "distribute", "to be heard again after 2026-01-01T00:02:00Z", CLUSTERS
    )
    driver.look()
    step = driver.step()
    assert isinstance(step, Wait)
    assert step.whom == ("east/pod-5",)


def test_a_controller_that_stays_silent_is_never_given_up() -> None:
    driver = until(lambda step: isinstance(step, Drop))
    silent = controller(driver)
    driver.mesh.now += timedelta(days=30)
    for cluster in CLUSTERS:
        driver.read(cluster)
    for pod in driver.mesh.pods.values():
        if pod is not silent:
            driver.hear(pod)
    assert driver.step() == Wait("drop", "these are silent", (f"east/{silent.name}",))


def test_a_report_that_arrives_late_changes_nothing() -> None:
    driver = begun()
    pod = proxy(driver)
    early = pod.report(driver.mesh.now)
    driver.mesh.now += MINUTE
    driver.look()
    after = driver.seen
    assert with_report(after, pod.cluster, pod.name, early) is after
    assert with_report(after, pod.cluster, "gone", early) is after
    assert with_report(after, "nowhere", pod.name, early) is after


class Storm:
    """Anything happens, at any time, late: to the pods, to what is heard of them, to the driver."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.driver = begun()
        self.mesh = self.driver.mesh
        self.silent: set[str] = set()  # pods that are not heard, clusters that cannot be read
        self.deaf: set[str] = set()  # pods that are told nothing new
        self.letters: list[tuple[Pod, Report]] = []
        self.steps: list[Step] = []

    def rage(self, ticks: int) -> None:
        """Let time go by. Some rotations are left alone, others are turned around all the time."""
        whims = self.chance.choice([0.0, 0.02, 0.1])
        for _ in range(ticks):
            self.mesh.now += timedelta(seconds=self.chance.choice([0, 1, 10, 30, 60, 119]))
            self.pods_come_and_go()
            for pod in self.mesh.pods.values():
                self.something_reaches(pod)
            self.news_are_heard()
            if self.chance.random() < whims:
                self.something_happens_to_the_driver()
            if self.chance.random() < 0.7:
                self.steps.append(self.driver.drive())
            assert self.mesh.strangers() == []

    def pods_come_and_go(self) -> None:
        if self.chance.random() < 0.1 and len(self.mesh.pods) < 8:
            cluster = self.chance.choice(CLUSTERS)
            self.mesh.spawn(cluster, signs=self.chance.random() < 0.5, late=self.late())
        if self.chance.random() < 0.1 and len(self.mesh.pods) > 2:
            del self.mesh.pods[self.chance.choice(list(self.mesh.pods))]
        for unwell in (self.silent, self.deaf):
            if self.chance.random() < 0.1:
                unwell ^= {self.chance.choice([*self.mesh.pods, *CLUSTERS])}

    def something_reaches(self, pod: Pod) -> None:
        if pod.name not in self.deaf:
            self.mesh.deliver(pod, self.late())
            self.mesh.reload(pod, self.late())
        if pod.answer is None and self.chance.random() < 0.5:
            self.mesh.ask(pod, self.late())
        elif self.chance.random() < 0.3:
            self.mesh.receive(pod)

    def news_are_heard(self) -> None:
        for cluster in CLUSTERS:
            if cluster not in self.silent:
                self.driver.read(cluster)
        for pod in self.mesh.pods.values():
            if pod.name not in self.silent and self.chance.random() < 0.9:
                self.letters.append((pod, pod.report(self.mesh.now)))
        self.chance.shuffle(self.letters)
        while self.letters and self.chance.random() < 0.9:
            pod, report = self.letters.pop()
            self.driver.seen = with_report(self.driver.seen, pod.cluster, pod.name, report)

    def something_happens_to_the_driver(self) -> None:
        match self.chance.randrange(3):
            case 0:  # it ends after a write of which it never knows
                self.mesh.perform(self.driver.step())
                self.driver.seen = {}
            case 1:
                self.driver.plan = self.driver.plan.roll_back()
            case 2:
                self.driver.plan = self.driver.plan.roll_forward()
        paused = self.chance.random() < 0.1
        self.driver.plan = self.driver.plan.pause() if paused else self.driver.plan.resume()

    def late(self) -> int:
        return self.chance.choice([0, 0, 1, 2])

    def peace(self) -> Step:
        """Let all be well, with somebody in each cluster to sign."""
        for cluster in CLUSTERS:
            self.mesh.spawn(cluster, signs=True)
        self.driver.plan = self.driver.plan.resume()
        return ending(self.driver)


@settings(max_examples=EXAMPLES, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_nobody_is_cut_off_in_any_storm_and_afterwards_it_ends(seed: int) -> None:
    storm = Storm(seed)
    storm.rage(TICKS)
    assert storm.peace() == Done()
    assert is_settled(storm.driver)


def test_storms_get_through_all_phases() -> None:
    kinds = set[type]()
    for seed in range(15):
        storm = Storm(seed)
        storm.rage(TICKS)
        kinds |= {type(step) for step in storm.steps}
    assert kinds == {Distribute, Reissue, Drop, Wait, Done}


def test_an_anchor_that_somebody_has_dropped_too_early_comes_back_first() -> None:
    """Everybody is below the new anchor, and then one cluster does not trust it any more."""
    driver = until(lambda step: isinstance(step, Drop))
    driver.mesh.places["west"].trusts.append((driver.mesh.now, frozenset((OLD,))))
    driver.look()
    assert driver.step() == Distribute("west", frozenset((NEW,)))
