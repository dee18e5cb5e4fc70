"""Shows the output of a command as ``kubectl exec`` reads it: WebSocket messages, each of one
channel, the last of which says how the command has ended."""

import msgspec
from aiohttp import web

from isthmus.embedded.api.executing import Output
from isthmus.model.wire import JsonObject

PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
OUT, ERR, ENDED = 1, 2, 3  # channels


def is_upgrade(request: web.Request) -> bool:
    return request.headers.get("upgrade", "").lower() == "websocket"


async def opened(request: web.Request) -> web.WebSocketResponse:
    socket = web.WebSocketResponse(protocols=PROTOCOLS)
    await socket.prepare(request)
    return socket


async def show(socket: web.WebSocketResponse, output: Output) -> None:
    """Send all of it, and end."""
    for channel, text in ((OUT, output.out), (ERR, output.err)):
        if text:
            await socket.send_bytes(bytes([channel]) + text.encode())
    await socket.send_bytes(bytes([ENDED]) + msgspec.json.encode(_ended(output.code)))
    await socket.close()


def _ended(code: int) -> JsonObject:
    if code == 0:
        return {"metadata": {}, "status": "Success"}
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: exit status {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }
