"""Which cluster a command means, and the way to it."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from isthmus.cli import completing
from isthmus.model.wire import Json

if TYPE_CHECKING:
    from isthmus.kube.access import Access
    from isthmus.kube.client import Client


@dataclass(frozen=True, slots=True)
class Where:
    """Which cluster the global options mean."""

    kubeconfig: str | None
    context: str | None

    def at(self, context: str | None) -> "Where":
        """Another cluster of the same kubeconfig; none named: the same cluster."""
        return self if context is None else replace(self, context=context)

    def access(self) -> "Access":
        """What the kubeconfig says about that cluster."""
        from isthmus.kube import kubeconfig
        from isthmus.runtime.clock import SystemClock

        files = kubeconfig.find(self.kubeconfig, os.environ, Path.home())
        return kubeconfig.load(files, SystemClock(), context=self.context)

    @asynccontextmanager
    async def connected(self) -> AsyncIterator["Client"]:
        """A client of that cluster."""
        from isthmus.kube import kubeconfig
        from isthmus.kube.client import Client
        from isthmus.kube.http import HttpTransport

        access = self.access()
        client = Client(HttpTransport(await kubeconfig.settled(access)), access.credentials)
        try:
            yield client
        finally:
            await client.close()


def _where() -> list[click.Parameter]:
    """The options that say which cluster is meant; typed twice, the last word counts."""

    def chosen(ctx: click.Context, option: click.Parameter, value: str | None) -> None:
        if value is not None:
            ctx.obj = replace(ctx.obj or Where(None, None), **{str(option.name): value})

    def option(name: str, sign: str, text: str, **more: Json) -> click.Option:
        return click.Option(
            [name], metavar=sign, help=text, expose_value=False, callback=chosen, **more
        )

    return [
        option(
            "--kubeconfig", "FILE", "Instead of $KUBECONFIG or ~/.kube/config.", type=click.Path()
        ),
        option(
            "--context",
            "NAME",
            "A context of the kubeconfig; else the current.",
            shell_complete=completing.contexts,
        ),
    ]


class Commands(click.Group):
    """Commands that all know which cluster is meant, be it said before their name or after it."""

    def __init__(self, *args: Json, **options: Json) -> None:
        super().__init__(*args, **options)
        self.params = [*_where(), *self.params]

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        cmd.params = [*_where(), *cmd.params]
        super().add_command(cmd, name)
