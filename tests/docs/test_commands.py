"""Every command that a document or a help text shows can be typed as it stands there."""

import copy
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from isthmus.cli.main import cli
from tests.docs.reading import DOCUMENTS, calls, commands, name


def hollow(command: click.Command) -> click.Command:
    """Return a command that parses what it is given, and does nothing."""
    made = copy.copy(command)
    made.callback = None
    if isinstance(made, click.Group):
        made.commands = {each: hollow(one) for each, one in made.commands.items()}
    return made


HOLLOW = hollow(cli)


def refusal(words: tuple[str, ...]) -> str:
    """Say why the command does not take these words; nothing if it takes them."""
    known = [re.sub(r"\$\{?(\w+)\}?", r"\1", one) for one in words]
    try:
        HOLLOW.main(known, prog_name="isthmus", standalone_mode=False)
    except click.ClickException as error:
        return error.format_message()
    return ""


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_a_document_shows_only_commands_that_exist(path: Path) -> None:
    shown = commands(path.read_text(encoding="utf-8"))
    wrong = [
        f"{name(path)}:{line}: isthmus {' '.join(words)}: {why}"
        for line, words in shown
        if (why := refusal(words))
    ]
    assert not wrong, "\n".join(wrong)


def test_the_tutorial_shows_the_commands_of_its_story() -> None:
    tutorial = next(one for one in DOCUMENTS if one.name == "tutorial.md")
    shown = {one.words for one in commands(tutorial.read_text(encoding="utf-8"))}
    first_words = {word for words in shown for word in words}
    assert {"trust", "install", "check", "connect", "uninstall"} <= first_words


def examples(command: click.Command, path: str = "isthmus") -> Iterator[tuple[str, str]]:
    """Yield the blocks of examples in the help texts of a command and all below it."""
    for part in inspect.cleandoc(command.help or "").split("\n\n"):
        if part.startswith("\b"):
            whole = re.sub(r"(\\|(?<=\|))\n", " ", part.removeprefix("\b"))
            yield from ((path, line.strip()) for line in whole.splitlines() if line.strip())
    if isinstance(command, click.Group):
        for each, one in command.commands.items():
            yield from examples(one, f"{path} {each}")


@pytest.mark.parametrize("path, line", [*examples(cli)])
def test_an_example_of_a_help_text_can_be_typed(path: str, line: str) -> None:
    wrong = [why for words in calls(line) if (why := refusal(words))]
    assert not wrong, f"{path} --help: {line}"


@pytest.mark.parametrize(
    "line, problem",
    [
        ("isthmus trust create --out anchor", ""),
        ("isthmus trust create --help", ""),
        ("isthmus --context west install --cluster-name west --anchor anchor --apply", ""),
        ("isthmus nonsense", "No such command 'nonsense'"),
        ("isthmus trust nonsense", "No such command 'nonsense'"),
        ("isthmus check --nonsense", "No such option '--nonsense'"),
        ("isthmus --nonsense check", "No such option '--nonsense'"),
        ("isthmus check -o xml", "'xml' is not one of"),
        ("isthmus trust create", "Missing option '--out'"),
        ("isthmus version too", "unexpected extra argument"),
        ("isthmus allow East", "not the name of a cluster"),
    ],
)
def test_what_cannot_be_typed_is_noticed(line: str, problem: str) -> None:
    (words,) = calls(line)
    found = refusal(words)
    assert problem in found
    assert bool(found) == bool(problem)


PAGE = """\
`isthmus in-prose`

```yaml
$ isthmus not-a-console
```

```console
$ isthmus one --set a=b | kubectl apply -f -
isthmus output
$ kubectl get pods && isthmus two
$ isthmus three \\
    --long   # a comment
$ isthmus four |
    kubectl apply -f -
$ kubectl apply -f - <<EOF
isthmus inside-a-document
EOF
$ for one in east west; do
    isthmus --context $one five "two words"
  done
$ isthmus six > file
```
"""


def test_commands_are_found_behind_prompts_only() -> None:
    assert [(one.line, " ".join(one.words)) for one in commands(PAGE)] == [
        (8, "one --set a=b"),
        (10, "two"),
        (11, "three --long"),
        (13, "four"),
        (18, "--context $one five two words"),
        (21, "six"),
    ]
