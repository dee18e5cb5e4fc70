"""The reference of commands: what `--help` says, of all of them, on one page."""

import inspect
import textwrap
from collections.abc import Callable, Iterator

import click

from docs.generate.tables import block, code, page, table
from isthmus.cli import exits

# Every command has these, before its name and after it; they are described once.
EVERYWHERE = {"kubeconfig", "context"}
_CODES = (
    (0, "all is well"),
    (exits.FAILED, "refused, not there, or not as it should be; trying again changes nothing"),
    (
        exits.MISUSED,
        "typed wrongly: an option, a value, a file that is given to it; nothing was done",
    ),
    (exits.TRY_AGAIN, "it may work if it is tried again: something was not reached, or not ready"),
    (exits.INTERRUPTED, "interrupted by Ctrl-C; by another signal: 128 and its number"),
)


def text(root: click.Group) -> str:
    """Return the page about ``root`` and everything below it."""
    context = click.Context(root, info_name="isthmus", **root.context_settings)
    found = [(one, path) for one, path in _walked(root, context) if one is not root]
    index = table(
        ("Command", ""),
        [(f"[`{path.command_path}`](#{_anchor(path)})", _short(one)) for one, path in found],
    )
    codes = table(("Exit code", ""), [(str(number), text) for number, text in _CODES])
    return page(
        "Commands",
        f"{_prose(root)} `isthmus COMMAND --help` says the same as this page.",
        index,
        "## Everywhere",
        "Which cluster is meant can be said before the name of a command and after it:",
        _options(root, context, lambda one: one.name in EVERYWHERE),
        "Only before it, but for `--help`:",
        _options(root, context, lambda one: one.name not in EVERYWHERE),
        codes,
        *(part for one, path in found for part in _section(one, path)),
    )


def _walked(
    command: click.Command, context: click.Context
) -> Iterator[tuple[click.Command, click.Context]]:
    """Yield a command and all below it, each with the words by which it is called."""
    if command.hidden:
        return
    yield command, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.commands[name]
            below = click.Context(inner, parent=context, info_name=name, **inner.context_settings)
            yield from _walked(inner, below)


def _section(command: click.Command, context: click.Context) -> Iterator[str]:
    yield f"## {context.command_path}"
    words = " ".join(command.collect_usage_pieces(context))
    yield block(f"{context.command_path} {words}", "text")
    yield _prose(command)
    yield _options(command, context, _is_own)
    if isinstance(command, click.Group):
        names = ", ".join(code(one) for one in command.list_commands(context))
        yield f"Commands: {names}."


def _prose(command: click.Command) -> str:
    """Return the help text: paragraphs as they flow, and blocks that were laid out by hand."""
    parts = inspect.cleandoc(command.help or "").split("\n\n")
    made = []
    for one in parts:
        if one.startswith("\b"):
            made.append(block(textwrap.dedent(one.removeprefix("\b").strip("\n")), "text"))
        else:
            made.append(" ".join(one.split()))
    return "\n\n".join(made)


def _is_own(option: click.Option) -> bool:
    """Whether it is not what every command has; a command may mean more by it, and say so."""
    return (option.name not in EVERYWHERE or option.multiple) and "--help" not in option.opts


def _options(
    command: click.Command, context: click.Context, is_wanted: Callable[[click.Option], bool]
) -> str:
    rows = [
        _row(one, context)
        for one in command.get_params(context)
        if isinstance(one, click.Option) and not one.hidden and is_wanted(one)
    ]
    return table(("Option", "Takes", "Default", "Meaning"), rows)


def _row(option: click.Option, context: click.Context) -> tuple[str, str, str, str]:
    names = ", ".join(code(one) for one in (*option.opts, *option.secondary_opts))
    needed = " Required." if option.required else ""
    text = f"{option.help or ''}{needed}".strip()
    return names, code(_takes(option, context)), _default(option), text


def _takes(option: click.Option, context: click.Context) -> str:
    if option.is_flag or option.count:
        return ""
    if isinstance(option.type, click.IntRange) and option.metavar is None:
        return f"{option.type.min} … {option.type.max}"
    return option.make_metavar(context).strip("[]")


def _default(option: click.Option) -> str:
    """Return what holds when nothing is said, where there is anything to say about it."""
    plain = isinstance(option.default, str | int | float) and not option.is_flag
    said = str(option.default) if plain and not option.count else ""
    return code(said)


def _short(command: click.Command) -> str:
    return command.get_short_help_str(limit=200)


def _anchor(context: click.Context) -> str:
    return context.command_path.replace(" ", "-")
