"""What the shell offers when Tab is pressed: contexts and Links. Whatever fails, it offers nothing.

Nobody reads an error there, and nobody waits: a cluster gets a second to answer.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click

    from isthmus.cli.where import Where

PATIENCE = 1.0  # seconds


def contexts(ctx: "click.Context", _param: "click.Parameter", incomplete: str) -> list[str]:
    """Offer the contexts of the kubeconfig."""
    import os
    from pathlib import Path

    from isthmus.kube import kubeconfig
    from isthmus.model.errors import IsthmusError

    try:
        files = kubeconfig.find(_where(ctx).kubeconfig, os.environ, Path.home())
        return _begun(kubeconfig.contexts(files), incomplete)
    except IsthmusError:
        return []


def links(ctx: "click.Context", _param: "click.Parameter", incomplete: str) -> list[str]:
    """Offer the Links of the cluster that is meant."""
    import asyncio

    from isthmus.model.errors import IsthmusError

    try:
        return _begun(asyncio.run(_link_names(_where(ctx))), incomplete)
    except (IsthmusError, TimeoutError):
        return []


async def _link_names(where: "Where") -> list[str]:
    import asyncio

    from isthmus.kube.resources import LINKS

    async with asyncio.timeout(PATIENCE), where.connected() as client:
        return [one.cluster for one in (await client.list(LINKS)).objects]


def _where(ctx: "click.Context") -> "Where":
    from isthmus.cli.where import Where

    return ctx.find_object(Where) or Where(None, None)


def _begun(names: "list[str] | tuple[str, ...]", incomplete: str) -> list[str]:
    return sorted(name for name in names if name.startswith(incomplete))
