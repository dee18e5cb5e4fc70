"""What there is before anything happens: which clusters, which links, which Services."""

from dataclasses import dataclass
from random import Random

from isthmus.model.wire import JsonObject

PORT = 4143
GATEWAYS = {"west": "203.0.113.9", "far-west": "203.0.113.19"}
ELSEWHERE = {"west": "203.0.113.10", "far-west": "203.0.113.20"}  # where they may move to


@dataclass(frozen=True, slots=True)
class Joint:
    """A link: how it reads, whose proxies carry its calls, and what it mirrors of sets."""

    target: str
    via: str
    plane: str
    headless: bool

    @property
    def host(self) -> str:
        return f"gw.{self.target}.example"

    def link(self) -> JsonObject:
        spec: JsonObject = {
            "gateway": {"addresses": [self.host], "port": PORT},
            "via": self.via,
            "dataPlane": self.plane,
            "enableHeadlessServices": self.headless,
            # Probes are most of what a settled world does; fewer of them show the same.
            "probe": {"period": "20s", "timeout": "5s", "failureThreshold": 2},
        }
        if self.via == "api":
            spec["credentialsSecret"] = f"cluster-credentials-{self.target}"
            spec["clusterDomain"] = f"{self.target}.cluster.local"
        return {"metadata": {"name": self.target}, "spec": spec}


@dataclass(frozen=True, slots=True)
class Layout:
    """``services`` are pairs of a target and ``namespace/name``, with ``/pods`` for a set."""

    joints: tuple[Joint, ...]
    services: tuple[tuple[str, str], ...]
    replicas: int
    page: int = 500  # objects of a list that clients ask for at once

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(one.target for one in self.joints)

    @property
    def slots(self) -> tuple[str, ...]:
        """Where controllers run: in the source, and in targets that serve a catalogue."""
        here = [f"east-{letter}" for letter in "ab"[: self.replicas]]
        there = [f"{one.target}-a" for one in self.joints if one.via == "gateway"]
        return (*here, *there)


PLAIN = ("default/web", "default/api", "default/web-far", "shop/web", "shop/cart")
SETS = ("default/db/2", "shop/mq/1")
MANY = tuple(f"default/s{number}" for number in range(6))


def layout(random: Random) -> Layout:
    """Make up a world; small ones, because trouble needs no crowd."""
    targets = ("west", "far-west") if random.random() < 0.35 else ("west",)
    joints = tuple(
        Joint(
            target=one,
            via=random.choice(("gateway", "api")),
            plane="envoy" if random.random() < 0.7 else "external",
            headless=random.random() < 0.8,
        )
        for one in targets
    )
    services: list[tuple[str, str]] = []
    for one in targets:
        chosen = random.sample(PLAIN, random.randint(1, 3)) + random.sample(
            SETS, random.randint(0, 1)
        )
        if random.random() < 0.15:
            chosen += MANY
        services += [(one, each) for each in sorted(chosen)]
    replicas = 2 if random.random() < 0.8 else 1
    return Layout(joints, tuple(services), replicas, 2 if random.random() < 0.3 else 500)
