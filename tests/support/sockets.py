"""An event loop for tests that talk over sockets, where a connection nobody closes is a failure."""

import asyncio
import socket
from typing import Any


class SocketLoop(asyncio.SelectorEventLoop):
    """Also closes what it has accepted for a server that was closed before it could be handed over.

    Python leaves such a connection to the garbage collector, which closes it as well: that is of no
    harm, but looks like a connection that somebody has forgotten.
    """

    async def _accept_connection2(
        self,
        protocol_factory: Any,
        conn: socket.socket,
        extra: Any,
        sslcontext: Any = None,
        server: asyncio.Server | None = None,
        *patience: float,
    ) -> None:
        if server is not None and not server.sockets:
            conn.close()
            return
        await super()._accept_connection2(  # type: ignore[misc]  # an inner part, of all versions
            protocol_factory, conn, extra, sslcontext, server, *patience
        )
