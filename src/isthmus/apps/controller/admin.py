"""The admin server: metrics, health, and how proxies and gateways are, for the cluster's own eyes.

All of it is read only, bounded in size, and tells no secret; what makes the controller knock at
other doors is rate-limited.
"""

import asyncio
import logging
from typing import TYPE_CHECKING

import msgspec
from aiohttp import web
from prometheus_client.exposition import choose_encoder

from isthmus.apps.controller.carrying.probing import Probing
from isthmus.apps.controller.carrying.standing import standing
from isthmus.apps.controller.metrics import registry
from isthmus.model.errors import Permanent
from isthmus.model.objects import Key
from isthmus.model.pages import Probe
from isthmus.model.quoting import one_line

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
    app.add_routes(_pages(controller))
    return app


def _pages(controller: "Controller") -> list[web.RouteDef]:
    """What people ask about one proxy, one Service or one link."""
    plane, config, outside = controller.dataplane, controller.config, controller.outside
    probing = Probing(controller.state, plane, outside)

    async def proxies(_request: web.Request) -> web.Response:
        return _json(standing(plane, config, outside))

    async def service(request: web.Request) -> web.Response:
        return _json(standing(plane, config, outside, _named(request)))

    async def link(request: web.Request) -> web.Response:
        name = request.match_info["name"]
        return _probed(await probing.link(name), f"there is no link {name}")

    async def mirror(request: web.Request) -> web.Response:
        key = _named(request)
        return _probed(await probing.mirror(key), f"the egress listens for no mirror {key}")

    return [
        web.get("/proxies", proxies),
        web.get("/proxies/{namespace}/{name}", service),
        web.get("/probe/links/{name}", link),
        web.get("/probe/mirrors/{namespace}/{name}", mirror),
    ]


def _named(request: web.Request) -> Key:
    return Key(request.match_info["namespace"], request.match_info["name"])


def _probed(found: Probe | None, missing: str) -> web.Response:
    if found is None:
        return web.Response(status=404, text=f"{one_line(missing, 200)}\n")
    return _json(found)


def _json(page: msgspec.Struct) -> web.Response:
    return web.Response(body=msgspec.json.encode(page), content_type="application/json")
