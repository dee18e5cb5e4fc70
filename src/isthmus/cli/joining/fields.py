"""Options about what Links and Grants say, and what they are read into."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from isthmus.model.errors import Permanent
from isthmus.model.wire import Json, JsonObject

if TYPE_CHECKING:
    from isthmus.cli.joining.gateway import Said
    from isthmus.cli.joining.scope import Scope

F = TypeVar("F", bound=Callable[..., object])

LARGEST = 1 << 20  # bytes of a file of fields
FILE = click.Path(dir_okay=False, allow_dash=True)


class Unreadable(Permanent):
    """A file that cannot be read, or is not what it should be. Names it, and the place."""


def _all(options: Iterable[Callable[[F], F]]) -> Callable[[F], F]:
    def decorate(command: F) -> F:
        for option in reversed(list(options)):
            command = option(command)
        return command

    return decorate


def _many(name: str, metavar: str, text: str) -> Callable[[F], F]:
    plural = f"{name.removeprefix('--').replace('-', '_')}s"
    text = f"{text} Many allowed."
    return click.option(name, plural, multiple=True, metavar=metavar, help=text)


settings = _all(
    (
        click.option(
            "--set",
            "assignments",
            multiple=True,
            metavar="FIELD=VALUE",
            help="A field of the Link's spec, as probe.period=5s. Many allowed.",
        ),
        click.option(
            "-f", "--values", "files", type=FILE, multiple=True, help="A file of such fields."
        ),
    )
)
scope = _all(
    (
        _many("--from-namespace", "NAME", "Let in workloads of this namespace; else all."),
        _many("--from-service-account", "NAMESPACE/NAME", "Let in this service account; else all."),
        _many("--to-namespace", "NAME", "Only to exports in this namespace; else all."),
        _many("--to-service", "NAMESPACE/NAME", "Only to this export; else all."),
        _many("--to-selector", "SELECTOR", "Only to exports with such labels, as tier=front."),
    )
)


def gateway(prefix: str = "", whose: str = "the gateway") -> Callable[[F], F]:
    return _all(
        (
            click.option(
                f"--{prefix}gateway-address",
                f"{prefix.replace('-', '_')}addresses",
                multiple=True,
                metavar="ADDRESS",
                help=f"Where {whose} is reached; else its Service says it. Many allowed.",
            ),
            click.option(
                f"--{prefix}gateway-port",
                f"{prefix.replace('-', '_')}port",
                type=click.IntRange(1, 65535),
                help=f"Of {whose}; else its Service says it.",
            ),
        )
    )


def read_scope(options: dict[str, Json]) -> "Scope":
    """Take the options of :data:`scope` out of all options."""
    from isthmus.cli.joining.scope import Scope

    names = Scope.__dataclass_fields__
    return Scope(**{name: options.pop(name) for name in names})


def read_settings(options: dict[str, Json]) -> JsonObject:
    """Take the options of :data:`settings` out of all options, and read the files."""
    from isthmus.cli.joining.settings import gathered

    files = [read_document(one) for one in options.pop("files")]
    return gathered("Link", files, options.pop("assignments"))


def read_gateway(options: dict[str, Json], settings: JsonObject, prefix: str = "") -> "Said":
    """Take the options of :func:`gateway` out of all options, and the same out of ``settings``:
    what is said by either way is about one gateway, and not a setting of every Link."""
    from isthmus.cli.joining.gateway import Said

    also = settings.get("gateway", {})
    addresses, port = also.pop("addresses", ()), also.pop("port", None)
    said = options.pop(f"{prefix}addresses"), options.pop(f"{prefix}port")
    return Said(said[0] or tuple(addresses), port if said[1] is None else said[1])


def read_document(file: str) -> JsonObject:
    """Read the one mapping that is in a YAML file; - is standard input."""
    import sys

    import yaml

    try:
        if file == "-":
            raw = sys.stdin.buffer.read(LARGEST + 1)
        else:
            with Path(file).open("rb") as opened:
                raw = opened.read(LARGEST + 1)
    except OSError as error:
        raise Unreadable(f"{file} cannot be read: {error.strerror}") from None
    if len(raw) > LARGEST:
        raise Unreadable(f"{file} is larger than {LARGEST} bytes")
    try:
        found = yaml.safe_load(raw)
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark is not None else ""
        raise Unreadable(f"{file} is not YAML{where}") from None
    if not isinstance(found, dict):
        raise Unreadable(f"{file} holds no fields")
    return found
