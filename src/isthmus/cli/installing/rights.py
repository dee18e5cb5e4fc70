"""Asks for every right before anything is done: nothing stays half done for want of one."""

from collections.abc import Iterable

from isthmus.cli.permissions import lacking
from isthmus.kube.client import Client
from isthmus.kube.plain import KINDS
from isthmus.model.errors import Permanent
from isthmus.model.wire import JsonObject


class NotAllowed(Permanent):
    """Rights are missing. Names all of them, and nothing was written."""


async def check(client: Client, objects: Iterable[JsonObject], verbs: Iterable[str]) -> None:
    """Raise :class:`NotAllowed` unless we may do all of ``verbs`` to all of ``objects``."""
    needed = {(one["kind"], one["metadata"].get("namespace", "")): None for one in objects}
    wrong = [
        sentence
        for kind, namespace in needed
        if (sentence := await lacking(client, KINDS[kind], verbs, namespace))
    ]
    if wrong:
        raise NotAllowed(f"{'; '.join(wrong)}. Nothing was written")
