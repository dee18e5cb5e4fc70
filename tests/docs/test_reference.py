"""The reference says what the code says."""

from pathlib import Path

import click
import pytest

from docs.generate import commands, kinds
from docs.generate.pages import pages
from docs.generate.tables import table
from isthmus.cli.main import cli
from tests.docs.reading import name

PAGES = pages()


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_a_page_is_what_the_code_says(path: Path) -> None:
    kept = path.read_text(encoding="utf-8") if path.exists() else ""
    assert kept == PAGES[path], f"{name(path)} is not what the code says any more: run `make docs`"


def test_every_command_and_every_option_is_there() -> None:
    (text,) = (text for path, text in PAGES.items() if path.name == "cli.md")

    def missing(command: click.Command, path: str) -> list[str]:
        found = [] if f"\n## {path}\n" in text or command is cli else [path]
        options = [one for each in command.params for one in (*each.opts, *each.secondary_opts)]
        found += [f"{path} {one}" for one in options if one[:1] == "-" and f"`{one}`" not in text]
        below = command.commands if isinstance(command, click.Group) else {}
        return found + [one for each in below for one in missing(below[each], f"{path} {each}")]

    assert missing(cli, "isthmus") == []


@click.group()
@click.option("--hidden", hidden=True)
@click.option("-v", "verbose", count=True, help="Say more.")
def tool() -> None:
    """A tool."""


@tool.command()
@click.argument("what")
@click.option("--context", multiple=True, help="Many.")
@click.option("--kubeconfig", help="The same everywhere.")
@click.option("--port", type=click.IntRange(1, 9), default=4)
@click.option("--how", type=click.Choice(["a", "b"]), required=True, help="A|B.")
@click.option("--yes/--no", help="Either.")
def act() -> None:
    """Act on WHAT.

    With care.

    \b
      tool act x |
        more
    """


EXPECTED = """\
## isthmus act

```text
isthmus act [OPTIONS] WHAT
```

Act on WHAT.

With care.

```text
tool act x |
  more
```

| Option | Takes | Default | Meaning |
| --- | --- | --- | --- |
| `--context` | `TEXT` |  | Many. |
| `--port` | `1 … 9` | `4` |  |
| `--how` | `a\\|b` |  | A\\|B. Required. |
| `--yes`, `--no` |  |  | Either. |
"""


def test_a_command_is_described_whole() -> None:
    text = commands.text(tool)
    assert text.endswith(EXPECTED)
    assert "hidden" not in text
    assert "| [`isthmus act`](#isthmus-act) | Act on WHAT. |" in text


SCHEMA = {
    "type": "object",
    "description": "A thing.",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["names"],
            "x-kubernetes-validations": [{"rule": "self.a || b", "message": "it must be"}],
            "properties": {
                "names": {
                    "type": "array",
                    "description": "Of things.",
                    "maxItems": 2,
                    "items": {"type": "string", "minLength": 1, "pattern": "^a|b$"},
                },
                "kinds": {"type": "array", "items": {"type": "object", "properties": {"a": {}}}},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "on": {"type": "boolean", "default": True},
            },
        },
        "status": {"type": "object"},
    },
}
THING = {
    "spec": {
        "group": "example.dev",
        "scope": "Cluster",
        "names": {"kind": "Thing", "plural": "things"},
        "versions": [
            {
                "name": "v1",
                "schema": {"openAPIV3Schema": SCHEMA},
                "additionalPrinterColumns": [{"name": "Age", "jsonPath": ".age", "priority": 1}],
            }
        ],
    }
}


@pytest.mark.parametrize(
    "line",
    [
        "A thing.",
        "`apiVersion: example.dev/v1`, `kind: Thing`; it lives in no namespace. "
        "Shown by `kubectl get things`.",
        "| `spec.names` | list of string |  | Of things. Required. At most 2 of them. "
        "Each not empty, matches `^a\\|b$`. |",
        "| `spec.kinds` | list of object |  |  |",
        "| `spec.labels` | map to string |  |  |",
        "| `spec.on` | boolean | `true` |  |",
        "- `spec`: it must be",
        "  (`self.a || b`)",
        "| AGE | `.age` | Only with `-o wide`. |",
    ],
)
def test_a_kind_is_described_whole(line: str) -> None:
    assert line in kinds.text([THING]).splitlines()


def test_a_table_without_rows_is_not_there() -> None:
    assert table(("A", "B"), []) == ""
