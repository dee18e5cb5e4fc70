"""Options about what Links and Grants say, and what they are read into."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

import click

from isthmus.model.wire import Json, JsonObject

if TYPE_CHECKING:
    from isthmus.cli.joining.gateway import Said
    from isthmus.cli.joining.scope import Scope

F = TypeVar("F", bound=Callable[..., object])

FILE = click.Path(dir_okay=False, allow_dash=True)


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
    from isthmus.cli import handed
    from isthmus.model import yamls

    try:
        found = yamls.read(handed.text(file), yamls.Taken("a file of fields", yamls.scalar))
    except yamls.BadYaml as error:
        raise handed.Unreadable(f"{file}: {error}") from None
    if not isinstance(found, dict):
        raise handed.Unreadable(f"{file} holds no fields")
    return found
