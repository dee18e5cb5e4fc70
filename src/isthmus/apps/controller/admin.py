"""The admin server: metrics and health, for the cluster's own eyes."""

import asyncio
import logging
from typing import TYPE_CHECKING

from aiohttp import web
from prometheus_client.exposition import choose_encoder

from isthmus.apps.controller.metrics import registry
from isthmus.model.errors import Permanent

if TYPE_CHECKING:
    from isthmus.apps.controller.run import Controller

log = logging.getLogger(__name__)


class PortTaken(Permanent):
    """The admin port cannot be had. Says which one, and how to choose another."""


async def serve(controller: "Controller") -> None:
    """Serve until cancelled; nothing at all if the configuration says so."""
    port = controller.config.admin_port
    if port is None:
        return
    runner = web.AppRunner(application(controller), access_log=None)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, controller.config.address, port).start()
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise PortTaken(
                f"admin port {port}: {reason}; choose another by --admin-port"
            ) from error
        log.info("admin server listens", extra={"port": port})
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


def application(controller: "Controller") -> web.Application:
    """Build the routes. Readiness is about this cluster only: a target that is down must not
    take this controller, which serves all others, out of service."""
    measured = registry(controller)

    async def metrics(request: web.Request) -> web.Response:
        encode, content_type = choose_encoder(request.headers.get("accept", ""))
        return web.Response(body=encode(measured), headers={"Content-Type": content_type})

    async def alive(_request: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def ready(_request: web.Request) -> web.Response:
        if controller.state.synced:
            # Mirroring needs no certificates: what is wrong with them is said, and no more.
            wrong = controller.dataplane.authority.problems
            return web.Response(text="\n".join(("ok", *wrong, "")))
        return web.Response(status=503, text="this cluster is not known completely yet\n")

    app = web.Application()
    app.add_routes(
        [web.get("/metrics", metrics), web.get("/livez", alive), web.get("/readyz", ready)]
    )
    return app
