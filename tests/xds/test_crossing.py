"""What crosses from a pod of east to a pod of west, through two real Envoys, and how."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from hashlib import sha256

import grpc
import pytest
from msgspec.structs import replace

from tests.support.waiting import until
from tests.xds import crossing
from tests.xds.crossing import CURL, CURL_ID, OTHER, STRANGER, Crossing, call, pod

pytestmark = [pytest.mark.sockets, pytest.mark.usefixtures("both")]

REQUEST = "GET /a/b?c HTTP/1.1\nhost: shop.example"


async def greeted(caller: str) -> bool:
    try:
        async with call("echo", caller) as line:
            return await line.hear() == "welcome\n"
    except ConnectionResetError:  # a refusal may come before the connection stands
        return False


async def test_a_connection_is_carried_from_the_first_word_to_the_last() -> None:
    """The server speaks first, and goes on after the client has said all it had to say."""
    async with pod(crossing.echo, 7001), call("echo") as line:
        assert await line.hear() == "welcome\n"
        await line.say("hello\n")
        assert await line.hear() == "hello\n"
        line.writer.write_eof()
        assert await line.rest() == "goodbye\n"


async def test_many_bytes_arrive_as_they_were_sent() -> None:
    sent = bytes(range(256)) * (16 << 12)  # 16 MiB
    async with pod(crossing.echo, 7001), call("echo") as line:
        await line.hear()

        async def send() -> None:
            line.writer.write(sent)
            await line.writer.drain()

        async with asyncio.TaskGroup() as group:
            group.create_task(send())
            received = await line.reader.readexactly(len(sent))
    assert sha256(received).digest() == sha256(sent).digest()


async def test_a_request_arrives_as_it_was_made_with_its_callers_name() -> None:
    async with pod(crossing.show, 7002), call("web") as line:
        answer = await line.ask(f"{REQUEST}\nx-own: kept\nx-forwarded-proto: https")
    head, _, arrived = answer.partition("\r\n\r\n")
    assert head.splitlines()[0] == "HTTP/1.1 200 OK"
    assert "server: app" in head.splitlines()
    first, *lines = arrived.strip().splitlines()
    assert first == "GET /a/b?c HTTP/1.1"
    headers = dict(one.split(": ", 1) for one in lines)
    certificate = headers.pop("x-forwarded-client-cert")
    assert certificate.startswith(f"By={crossing.GATEWAY_ID};Hash=")
    assert certificate.endswith(f";URI={CURL_ID}")
    assert headers == {
        "host": "shop.example",
        "x-own": "kept",
        "x-forwarded-for": CURL,
        "x-forwarded-proto": "https",
    }


async def test_nobody_can_say_who_they_are() -> None:
    """Not in the header that names callers, nor in any that the proxies go by."""
    forged = [
        f"x-forwarded-client-cert: By=x;URI={CURL_ID}",
        f"isthmus-source: {CURL}",
        f"isthmus-source: {CURL}",
        f"x-forwarded-for: {CURL}",
        f"x-envoy-external-address: {CURL}",
        f"isthmus-destination: {crossing.authority('private-web')}",
        "x-envoy-retry-on: 5xx",
        "x-envoy-original-path: /admin",
    ]
    request = "\n".join([REQUEST, *forged])
    async with pod(crossing.show, 7002) as server:
        async with call("web", OTHER) as line:
            assert (await line.ask(request)).startswith("HTTP/1.1 403 ")
        async with call("web", STRANGER) as line:
            assert (await line.ask(request)).startswith("HTTP/1.1 503 ")
        assert server.connections == 0
        async with call("web") as line:
            arrived = await line.ask(request)
    assert arrived.count("URI=") == 1
    assert "isthmus-" not in arrived
    assert "x-envoy-" not in arrived


async def test_a_web_socket_is_carried() -> None:
    upgrade = "GET /ws HTTP/1.1\r\nhost: w\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"
    async with pod(crossing.show, 7002), call("web") as line:
        await line.say(upgrade)
        head = (await line.reader.readuntil(b"\r\n\r\n")).decode()
        assert head.startswith("HTTP/1.1 101 ")
        assert await line.hear() == "welcome\n"
        await line.say("frame\n")
        assert await line.hear() == "frame\n"


async def test_a_grpc_stream_runs_both_ways_with_trailers(both: Crossing) -> None:
    async def double(
        requests: AsyncIterator[bytes], context: grpc.aio.ServicerContext
    ) -> AsyncIterator[bytes]:
        context.set_trailing_metadata((("x-end", "reached"),))
        async for one in requests:
            yield one + one

    server = grpc.aio.server()
    handler = grpc.stream_stream_rpc_method_handler(double)
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler("test.Doubling", {"Run": handler}),)
    )
    server.add_insecure_port(f"{crossing.PODS}:7003")
    await server.start()
    here = replace(crossing.EAST, callers={**crossing.CALLERS, "127.0.0.1": "default/curl"})
    both.tell_east(here)  # gRPC chooses the address that it calls from
    listener, _, _ = crossing.LISTENERS["rpc"]
    async with grpc.aio.insecure_channel(f"{crossing.EGRESS}:{listener}") as channel:
        stream = channel.stream_stream("/test.Doubling/Run")

        async def ready() -> bool:
            try:
                probe = stream()
                await probe.done_writing()
                return await probe.code() is grpc.StatusCode.OK
            except grpc.aio.AioRpcError:
                return False

        await until(ready, bool)
        running = stream()
        for word in (b"a", b"b"):
            await running.write(word)
            assert await running.read() == word + word
        await running.done_writing()
        assert await running.code() is grpc.StatusCode.OK
        assert ("x-end", "reached") in list(await running.trailing_metadata())
    await server.stop(None)
    both.tell_east(crossing.EAST)


async def test_a_reader_that_stalls_holds_up_nobody_else() -> None:
    """All of these share one connection between the proxies."""
    async with pod(crossing.flood, 7004), pod(crossing.echo, 7001), AsyncExitStack() as stack:
        stalled = [await stack.enter_async_context(call("flood")) for _ in range(20)]
        for line in stalled:
            await line.reader.readexactly(1)
        async with asyncio.timeout(5), call("echo") as line:
            assert await line.hear() == "welcome\n"


async def test_a_pod_that_is_gone_is_passed_over() -> None:
    async with pod(crossing.echo, crossing.HALF_DEAD):
        for _ in range(8):
            async with call("half") as line:
                assert await line.hear() == "welcome\n"


async def test_what_is_exported_changes_under_open_connections(both: Crossing) -> None:
    """Others' changes are not felt; what is taken back is refused from then on."""
    async with pod(crossing.echo, 7001) as server, call("echo") as line:
        await line.hear()

        async def is_served() -> bool:
            return await greeted(CURL)

        less = tuple(one for one in crossing.WEST.inbound if one.service != "web")
        both.tell_west(replace(crossing.WEST, inbound=less))

        async def web() -> str:
            async with call("web") as other:
                return (await other.ask(REQUEST))[:12]

        await until(web, lambda found: found == "HTTP/1.1 404")
        await line.say("still here\n")
        assert await line.hear() == "still here\n"
        assert await is_served()

        both.tell_west(replace(crossing.WEST, inbound=()))
        await until(is_served, lambda found: not found)
        before = server.connections
        assert not await is_served()
        assert server.connections == before

        both.tell_west(crossing.WEST)
        await until(is_served, bool)


async def test_pods_come_and_go_under_open_connections(both: Crossing) -> None:
    async with pod(crossing.echo, 7001), call("echo") as line:
        await line.hear()

        async def stranger() -> bool:
            return await greeted(STRANGER)

        assert not await stranger()
        known = {**crossing.CALLERS, STRANGER: "default/curl"}
        both.tell_east(replace(crossing.EAST, callers=known))
        await until(stranger, bool)
        both.tell_east(crossing.EAST)
        await until(stranger, lambda found: not found)
        await line.say("still here\n")
        assert await line.hear() == "still here\n"


async def test_envoy_took_everything_that_it_was_told(both: Crossing) -> None:
    for proxy in (both.west, both.east):
        assert await proxy.total("update_rejected") == 0, proxy.complaints
        assert await proxy.total("config_reload") > 0
