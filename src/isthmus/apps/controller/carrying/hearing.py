"""Passes on what proxies refuse of what they were told, to whoever can do something about it.

What a proxy refuses is held up alone, and it goes on with all else. The ADS server has logged and
counted it; here it becomes a word on the Link, or an Event at the exported Service, that it is for.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from isthmus.apps.controller.carrying.outgoing import Carrying
from isthmus.apps.controller.carrying.proxies import CALLERS, Part, Proxies
from isthmus.apps.controller.config import Config
from isthmus.apps.controller.outside import Outside
from isthmus.envoy.ads import AdsServer
from isthmus.kube.resources import EVENTS, SERVICES
from isthmus.model.errors import IsthmusError
from isthmus.model.objects import Event, Key, Metadata, ObjectReference
from isthmus.model.times import micro_time
from isthmus.xds.references import Reference

log = logging.getLogger(__name__)

PAUSE = 1.0  # seconds in which the complaints of many proxies become one word
LONGEST = 300  # characters of a complaint
MOST = 10  # Events at once

Complain = Callable[[Mapping[str, tuple[str, ...]]], None]


@dataclass(slots=True)
class Hearing:
    """Hears what proxies complain about; ``complain`` takes it, by the names of links."""

    config: Config
    outside: Outside
    ads: AdsServer
    proxies: Proxies
    carrying: Carrying

    async def run(self, complain: Complain) -> None:
        """Pass on every complaint once, and that there is none any more, for ever."""
        news = asyncio.Event()
        self.ads.tell(news.set)
        before: Mapping[Key, str] = {}
        while True:
            await news.wait()
            await self.outside.clock.sleep(PAUSE)
            news.clear()
            complain(self.by_link())
            found = self.by_service()
            fresh = [key for key in found if before.get(key) != found[key]]
            for key in fresh[:MOST]:
                await self._note(key, found[key])
            later = set(fresh[MOST:])
            before = {key: text for key, text in found.items() if key not in later}
            if later:
                news.set()

    def by_link(self) -> Mapping[str, tuple[str, ...]]:
        """Return what egress proxies refuse, by the names of the links that it is for."""
        result: dict[str, dict[str, None]] = {}
        for reference, message in self._refused("egress"):
            for link in self._links(reference):
                result.setdefault(link, {})[_text(reference, message)] = None
        return {link: tuple(sorted(found)) for link, found in result.items()}

    def by_service(self) -> Mapping[Key, str]:
        """Return what gateways refuse, by the exported Services that it is for."""
        result: dict[Key, str] = {}
        for reference, message in self._refused("gateway"):
            owner = self.proxies.gateway.owner(reference)
            if isinstance(owner, Key):
                result.setdefault(owner, _text(reference, message))
        return result

    def _refused(self, role: str) -> Iterable[tuple[Reference, str]]:
        for one in self.ads.connected:
            if one.role == role:
                for reference, refusal in one.session.refused.items():
                    yield reference, refusal.message

    def _links(self, reference: Reference) -> Iterable[str]:
        match self.proxies.egress.owner(reference):
            case Key() as key:
                return {one.link for one in self.carrying.outbound.get(key, ())}
            case Part("link", name):
                return (name,)
            case found if found == CALLERS:
                return (reference.name,)  # a link's table is called like the link
            case _:
                return self.carrying.peers  # all of them need it

    async def _note(self, key: Key, text: str) -> None:
        random, clock = self.outside.random, self.outside.clock
        name = f"{key.name}.{random.getrandbits(64):016x}"
        event = Event(
            metadata=Metadata(namespace=key.namespace, name=name),
            event_time=micro_time(clock.utc()),
            reporting_controller="isthmus.dev/controller",
            reporting_instance=self.config.identity[:128],
            action="Export",
            reason="ProxyRefused",
            note=f"gateways refuse what they are told for this Service: {text}",
            type="Warning",
            regarding=ObjectReference(
                api_version=SERVICES.api_version,
                kind=SERVICES.kind,
                namespace=key.namespace,
                name=key.name,
            ),
        )
        try:
            await self.outside.client.create(EVENTS, event)
        except IsthmusError as error:
            log.info("event not written", extra={"service": str(key), "error": str(error)})


def _text(reference: Reference, message: str) -> str:
    kind = reference.type_url.rpartition(".")[2]
    return f"{kind} {reference.name}: {' '.join(message.split())}"[:LONGEST]
