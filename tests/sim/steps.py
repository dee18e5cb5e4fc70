"""What can happen, and how a seed makes a story of it."""

from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from tests.sim.faults import FAULTS
from tests.sim.layout import PLAIN, SETS, Layout


class Step(NamedTuple):
    """One thing that happens: what, where, to whom, how much; and how long until the next."""

    kind: str
    where: str = ""
    what: str = ""
    number: float = 0
    wait: float = 0.0

    def __str__(self) -> str:
        said = [self.kind, self.where, self.what, f"{self.number:g}" if self.number else ""]
        return f"{' '.join(filter(None, said))}, then {self.wait:g} s"


@dataclass(frozen=True, slots=True)
class Dice:
    """Chooses among what the layout has."""

    random: Random
    layout: Layout

    def target(self) -> str:
        return self.random.choice(self.layout.targets)

    def plain(self) -> str:
        return self.random.choice(PLAIN)

    def export(self) -> tuple[str, str]:
        """A Service that is there from the beginning, mostly."""
        if self.random.random() < 0.8:
            target, name = self.random.choice(self.layout.services)
            return target, "/".join(name.split("/")[:2])
        return self.target(), self.plain()

    def slot(self) -> str:
        """A process; of the source, mostly."""
        here = [one for one in self.layout.slots if one.startswith("east")]
        return self.random.choice(here if self.random.random() < 0.75 else self.layout.slots)

    def line(self) -> tuple[str, str]:
        """A process and a cluster that it talks to."""
        slot = self.slot()
        cluster = slot.rpartition("-")[0]
        readable = [one.target for one in self.layout.joints if one.via == "api"]
        if cluster == "east" and readable and self.random.random() < 0.6:
            return slot, self.random.choice(readable)
        return slot, cluster

    def pause(self) -> float:
        mood = self.random.random()
        if mood < 0.45:
            return round(self.random.random() * 0.2, 3)
        if mood < 0.85:
            return round(self.random.random() * 6, 2)
        return round(self.random.random() * (40 if mood < 0.97 else 400), 1)


CHANGES = ("export", "unexport", "remove", "recreate", "port", "ready", "unready", "flip")
EDITS = (
    "edit ports",
    "edit selector",
    "edit labels",
    "edit slice",
    "delete mirror",
    "delete slice",
)
RARE_EDITS = ("strip", "take", "squat", "unsquat", "egress", "headless", "plane")
LIVES = ("crash", "crash before", "crash after", "stop", "pause", "clock")
TOGETHER = ("compact", "disconnect", "api down", "backup", "restore", "rebuild")
WAYS = ("cut", "refuse", "gateway down", "gateway moves", "names lie", "names gone", "catalogue")
KEYS = (
    "token revoked",
    "secret swapped",
    "secret gone",
    "secret wrong",
    "grant none",
    "grant shop",
)
SPACES = ("namespace gone", "namespace back", "mass", "unlink", "relink")

_CHOICES = (
    ("change", 22),
    ("scale", 5),
    ("edit", 9),
    ("rare edit", 6),
    ("fault", 30),
    ("life", 11),
    ("together", 7),
    ("way", 7),
    ("key", 5),
    ("space", 6),
    ("motif", 16),
)


def schedule(random: Random, layout: Layout) -> list[Step]:
    """Make up what happens: changes, faults and pauses, in no order that anybody planned."""
    dice = Dice(random, layout)
    names, weights = [name for name, _ in _CHOICES], [weight for _, weight in _CHOICES]
    steps = [Step("begin", wait=dice.pause() if random.random() < 0.3 else 6.0)]
    for _ in range(random.randint(1, 14)):
        steps += _some(dice, random.choices(names, weights)[0])
    return steps


def _some(dice: Dice, choice: str) -> list[Step]:
    random, wait = dice.random, dice.pause()
    match choice:
        case "change":
            where, what = dice.export()
            return [Step(random.choice(CHANGES), where, what, random.randint(81, 89), wait)]
        case "scale":
            name = random.choice(SETS).rpartition("/")[0]
            return [Step("scale", dice.target(), name, random.randint(0, 3), wait)]
        case "edit":
            return [Step(random.choice(EDITS), "east", "", random.randint(0, 9), wait)]
        case "rare edit":
            kind = random.choice(RARE_EDITS)
            return [Step(kind, dice.target(), dice.plain(), random.randint(0, 9), wait)]
        case "fault":
            slot, where = dice.line()
            times = random.choice((1, 1, 2, 3, 6, 12))
            return [Step("fault", f"{slot}>{where}", random.choice(sorted(FAULTS)), times, wait)]
        case "life":
            return [_life(dice, wait)]
        case "together":
            where = random.choice(("east", *dice.layout.targets, *dice.layout.targets))
            kind = random.choice(TOGETHER)
            if kind == "rebuild" and where == "east":
                kind = "restore"
            return [Step(kind, where, "", random.randint(1, 30), wait)]
        case "way":
            slot, where = dice.line()
            kind = random.choice(WAYS)
            where = f"{slot}>{where}" if kind in ("cut", "refuse") else dice.target()
            if kind == "names lie":  # which is noticed when names are asked for again
                wait = round(wait + random.random() * 60, 1)
            return [Step(kind, where, "", random.randint(1, 100), wait)]
        case "key":
            return [Step(random.choice(KEYS), dice.target(), "", random.randint(1, 60), wait)]
        case "space":
            return [Step(random.choice(SPACES), dice.target(), "shop", 0, wait)]
        case _:
            return _motif(dice)


def _life(dice: Dice, wait: float) -> Step:
    kind = dice.random.choice(LIVES)
    number: float = dice.random.randint(1, 40)
    if kind in ("crash before", "crash after"):
        number = dice.random.randint(1, 4)
    elif kind == "clock":
        number = dice.random.choice((-86400, -700, -30, 15, 700, 40_000))
    return Step(kind, dice.slot(), "", number, wait)


def _motif(dice: Dice) -> list[Step]:
    """A few steps that belong together: stories that have happened to others."""
    random = dice.random
    where, what = dice.export()
    joint = next(one for one in dice.layout.joints if one.target == where)
    slot = random.choice(("east", "east", "east-a", dice.slot()))
    one = slot if "-" in slot else "east-a"  # where it has to be one process
    # Who reads the target, and what: a controller of the source by its API, or one of its own.
    reader = f"{slot}>{where}" if joint.via == "api" else f"{where}>{where}"
    line = reader if random.random() < 0.6 else f"{slot}>east"
    there = line.rpartition(">")[2]
    short = round(random.random() * 0.5, 3)
    match random.randint(0, 13):
        case 0:  # somebody takes a name over while we write to what was there, or delete it
            return [
                Step("fault", f"{slot}>east", "writes delayed", 4),
                Step(random.choice(("unexport", "port")), where, what, 83, short),
                Step(random.choice(("take", "strip")), where, what, -1, dice.pause()),
            ]
        case 1:  # a watch is deaf while something goes, and its history is gone as well
            return [
                Step("fault", line, "watch cut at once", 3),
                Step("disconnect", there),
                Step("remove", where, what, 0, short),
                Step("compact", there, wait=dice.pause()),
            ]
        case 2:  # the leader stands still, another leads, and it comes back in the middle of it
            return [
                Step("fault", f"{slot}>east", "writes delayed", 3),
                Step("recreate", where, what, 85, short),
                Step("pause", one, "", random.randint(14, 40), random.randint(16, 45)),
            ]
        case 3:  # the lease cannot be renewed while there is work
            return [
                Step("fault", f"{slot}>east", random.choice(("lease slow", "lease 500")), 12, 9.0),
                *(Step("port", where, what, 80 + n, 2.0) for n in range(1, 6)),
            ]
        case 4:  # everything seems to be gone
            return [
                Step("fault", line, "empty list", random.randint(2, 9)),
                Step("fault", line, "410", 6),
                Step("disconnect", there, wait=dice.pause()),
            ]
        case 5:  # rights are gone for a while, and watches have to begin anew
            return [
                Step("fault", line, "403", random.randint(2, 9)),
                Step("fault", line, "410", 6),
                Step("disconnect", there, wait=dice.pause()),
            ]
        case 6:  # a replica lags behind and a controller starts to read from it
            return [
                Step("fault", reader, "lagging list", 12),
                Step("export", where, "default/late", 81, 70.0),
                Step("fault", reader, "410", 2),
                Step("disconnect", where, wait=dice.pause()),
            ]
        case 7:  # unlinked while work is under way, and linked again
            return [
                Step("port", where, what, 82, short),
                Step("unlink", where, wait=dice.pause()),
                Step("relink", where, wait=dice.pause()),
            ]
        case 8:  # everything here seems to be gone, and somebody unlinks
            return [
                Step("fault", f"{slot}>east", "empty list", random.randint(2, 9)),
                Step("fault", f"{slot}>east", "410", 9),
                Step("disconnect", "east", wait=1.5),
                Step("unlink", where, wait=dice.pause()),
            ]
        case 10:  # a token expires half way through a list
            return [
                Step("fault", reader, "410 in a list", random.randint(1, 4)),
                Step("fault", reader, "410", 4),
                Step("disconnect", where, wait=dice.pause()),
            ]
        case 11:  # a watch falls silent, and something happens
            return [
                Step("fault", line, "watch silent", 12),
                Step("disconnect", there, wait=1.0),
                Step("edit ports", "east", "", 1),
                Step("port", where, what, 84, dice.pause()),
            ]
        case 12:  # a catalogue falls silent, and something happens
            return [
                Step("catalogue", where, "", 2),
                Step(random.choice(("port", "unexport", "recreate")), where, what, 85),
                Step("export", where, dice.plain(), 85, dice.pause()),
            ]
        case 9:  # lists are forbidden, and nothing else is wrong
            return [Step("forbid", where, wait=dice.pause())]
        case _:  # the same name in two namespaces, one of which loses it
            return [
                Step("export", where, "shop/web", 81),
                Step("export", where, "default/web", 81, 4.0),
                Step("unexport", where, "shop/web", 0, dice.pause()),
            ]
