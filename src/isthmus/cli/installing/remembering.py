"""What a cluster remembers of its installation, so that nothing that was chosen gets lost."""

from collections.abc import Mapping
from contextlib import suppress

import msgspec

from isthmus.cli.installation import Installation, homes
from isthmus.install import memory
from isthmus.install.memory import Difference
from isthmus.install.values import Values, draft
from isthmus.kube.client import Client
from isthmus.kube.errors import Forbidden, NotFound
from isthmus.kube.resources import CONFIG_MAPS
from isthmus.model.errors import Permanent
from isthmus.model.names import VALUES
from isthmus.model.objects import Key
from isthmus.model.quoting import one_line
from isthmus.model.wire import Json

LONGEST = 200  # characters of a value that are shown


class InstalledElsewhere(Permanent):
    """A cluster has one Isthmus, and it is in another namespace. Names it, and both ways out."""


class Forgotten(Permanent):
    """There is an installation, and nobody knows what was chosen about it."""


async def require_alone(client: Client, namespace: str) -> None:
    """Raise :class:`InstalledElsewhere` if another namespace has a controller: rights and policies
    of the whole cluster are one controller's, and the other would lose them."""
    others: list[str] = []
    with suppress(Forbidden):  # whoever may not see this is told soon what else is missing
        others = [one for one in await homes(client) if one != namespace]
    if others:
        raise InstalledElsewhere(
            f"Isthmus is installed in {others[0]} already, and a cluster has only one: change that "
            f"with --namespace {others[0]}, or remove it by `isthmus uninstall --namespace "
            f"{others[0]}`. Nothing was written"
        )


async def remembered(client: Client, namespace: str, shown: Installation) -> Mapping[str, str]:
    """Return what was chosen before, as a file of values; none if nothing is installed."""
    key = Key(namespace, VALUES)
    with suppress(NotFound):
        found = await client.get(CONFIG_MAPS, key)
        if memory.KEPT in found.data:
            return {f"ConfigMap {key}": found.data[memory.KEPT]}
    if shown.cluster:
        raise Forgotten(
            f"Isthmus is installed in {namespace}, but there is no ConfigMap {key} with "
            f"{memory.KEPT} to tell what was chosen; say all of it again, with --reset-values. "
            "Nothing was written"
        )
    return {}


def difference(files: Mapping[str, str], values: Values) -> Difference:
    """Tell what of the remembered values is kept, and what was changed; nothing if there are
    none."""
    return memory.compared(draft((), files), values) if files else Difference()


def kept(found: Difference) -> str:
    return ", ".join(f"{key}={_shown(value)}" for key, value in found.kept.items())


def changed(found: Difference) -> str:
    return ", ".join(
        f"{key}={_shown(now)} (it was {_shown(was)})" for key, (was, now) in found.changed.items()
    )


def _shown(value: Json) -> str:
    """A value as it could be typed; a text without the quotes that JSON has."""
    text = value if isinstance(value, str) and value else msgspec.json.encode(value).decode()
    return one_line(text, LONGEST)
