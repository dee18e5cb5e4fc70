"""The reference of values: everything about an installation that can be chosen."""

from itertools import groupby

from docs.generate.tables import code, page, table
from isthmus.install import keys
from isthmus.install.keys import Entry
from isthmus.install.values import Values

_WAYS = (
    "Everything that can be chosen about an installation: by `--set KEY=VALUE`, or by a YAML file "
    "with `-f`. Later files win over earlier ones, and `--set` over files. "
    "`isthmus install --keys` prints this list (`-o json`, `-o yaml`); a key that is not in it is "
    "refused by name."
)


def text() -> str:
    """Return the page about the keys of an installation."""
    parts = []
    for group, entries in groupby(keys.entries(Values), key=_group):
        parts += [f"## {group}"] if group else []
        rows = [(code(one.path), one.takes, code(one.shown_default), one.text) for one in entries]
        parts.append(table(("Key", "Takes", "Default", "Meaning"), rows))
    return page("Values", _WAYS, *parts)


def _group(entry: Entry) -> str:
    """Return the first word of a key that has several."""
    first, dot, _ = entry.path.partition(".")
    return first if dot else ""
