"""What the client does about pages, credentials, pauses, limits and time."""

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from random import Random

import pytest

from isthmus.kube import requests
from isthmus.kube.client import Client
from isthmus.kube.codec import decoded_json, decoded_page, uid_of, version_of
from isthmus.kube.errors import (
    Expired,
    Garbled,
    NotFound,
    Rejected,
    Throttled,
    Unauthorized,
    Unreachable,
)
from isthmus.kube.exchange import Limits
from isthmus.kube.requests import EVERYTHING
from isthmus.kube.resources import NAMESPACES, SECRETS, SERVICES, TOKEN_REVIEWS
from isthmus.model.objects import Key, Metadata, Namespace, Secret
from isthmus.model.reviews import TokenRequest, TokenRequestSpec, TokenReview, TokenReviewSpec
from isthmus.runtime.clock import SystemClock
from tests.support.scripted import (
    Breaks,
    Says,
    Script,
    listing,
    named,
    refusal,
    refuses,
    says,
)

WEB = Key("shop", "web")
A, B, C = named("a", 5), named("b", 6), named("c", 7)
EXPIRED = says(refusal(410, "Expired") | {"metadata": {"continue": "inconsistent"}}, 410)


def service(name: str = "web") -> Says:
    return says({"kind": "Service", "apiVersion": "v1"} | named(name, 5))


def client(script: Script, **limits: float) -> Client:
    return Client(script, limits=Limits(**limits), random=Random(1))  # type: ignore[arg-type]  # ints and floats alike


async def names(script: Script, **limits: float) -> list[str]:
    page = await client(script, **limits).list(SERVICES)
    return [one.metadata.name for one in page.objects]


async def test_pages_are_joined() -> None:
    script = Script(listing(9, A, token="1"), listing(9, B, C))
    assert await names(script) == ["a", "b", "c"]
    assert script.asked == ["list", "list 1"]
    assert dict(script.requests[0].query)["limit"] == "500"


async def test_a_question_comes_back_with_its_answer() -> None:
    asked = TokenReview(spec=TokenReviewSpec(token="t"))
    answer = {"kind": "TokenReview", "spec": {}, "status": {"authenticated": True}}
    script = Script(says({"apiVersion": "authentication.k8s.io/v1"} | answer, 201))
    answered = await client(script).review(TOKEN_REVIEWS, asked)
    assert answered.status.authenticated
    assert script.requests[0].path == "/apis/authentication.k8s.io/v1/tokenreviews"


async def test_a_token_is_asked_for_at_its_account() -> None:
    answer = {"kind": "TokenRequest", "spec": {}, "status": {"token": "t"}}
    script = Script(says({"apiVersion": "authentication.k8s.io/v1"} | answer, 201))
    answered = await client(script).request_token(WEB, TokenRequest(spec=TokenRequestSpec()))
    assert answered.status.token == "t"
    assert script.requests[0].path == "/api/v1/namespaces/shop/serviceaccounts/web/token"


async def test_an_empty_page_with_a_token_is_not_the_end() -> None:
    script = Script(listing(9, token="1"), listing(9, token="2"), listing(9, A))
    assert await names(script) == ["a"]


async def test_a_token_that_expires_half_way_discards_all_pages() -> None:
    script = Script(listing(9, A, token="1"), EXPIRED, listing(11, B, token="2"), listing(11, C))
    assert await names(script) == ["b", "c"]
    assert script.asked == ["list", "list 1", "list", "list 2"]


async def test_a_token_that_always_expires_ends_in_a_list_without_pages() -> None:
    half = (listing(9, A, token="1"), EXPIRED)
    script = Script(*half, *half, *half, listing(12, A, B))
    assert await names(script) == ["a", "b"]
    assert "limit" not in dict(script.requests[-1].query)
    assert "list inconsistent" not in script.asked


async def test_a_list_that_expires_without_pages_is_an_error() -> None:
    half = (listing(9, A, token="1"), EXPIRED)
    with pytest.raises(Expired):
        await names(Script(*half, *half, *half, EXPIRED))


async def test_pages_of_different_moments_are_no_list() -> None:
    with pytest.raises(Garbled, match="different moments"):
        await names(Script(listing(9, A, token="1"), listing(10, B)))


async def test_a_list_without_an_end_is_given_up() -> None:
    with pytest.raises(Garbled, match="no end after 3 pages"):
        await names(Script(*[listing(9, A, token="x")] * 5), pages=3)


@pytest.mark.parametrize(
    "limits",
    [
        pytest.param({"page_bytes": 100}, id="one page"),
        pytest.param({"list_bytes": 200}, id="all of them"),
    ],
)
async def test_a_list_that_is_too_large_is_given_up(limits: dict[str, int]) -> None:
    with pytest.raises(Garbled, match="larger than"):
        await names(Script(listing(9, A, token="x"), listing(9, B), listing(9, C)), **limits)


async def test_an_object_that_is_too_large_is_given_up() -> None:
    flood = Says((b"{" + b" " * 60,) * 3)
    with pytest.raises(Garbled, match="get services shop/web: the answer is larger than 100 bytes"):
        await client(Script(flood), object_bytes=100).get(SERVICES, WEB)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(says({"kind": "Status", "apiVersion": "v1", "metadata": {}}), id="a Status"),
        pytest.param(says({"kind": "Pod", "apiVersion": "v1"} | A), id="another kind"),
        pytest.param(says({"kind": "Service", "apiVersion": "v2"} | A), id="another version"),
        pytest.param(says(A), id="no kind"),
        pytest.param(says([]), id="a list"),
        pytest.param(Says((b'{"kind":"Service"',)), id="cut"),
        pytest.param(Says((b"",)), id="nothing"),
    ],
)
async def test_an_answer_of_another_kind_is_refused(answer: Says) -> None:
    with pytest.raises(Garbled, match=r"^get services shop/web: the answer is not a Service"):
        await client(Script(answer)).get(SERVICES, WEB)


class Rotating:
    """Credentials of which each re-reading brings the next."""

    def __init__(self, *tokens: str) -> None:
        self._tokens = list(tokens)
        self.refreshed = 0

    async def headers(self) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {self._tokens[0]}"}

    async def refresh(self) -> bool:
        self.refreshed += 1
        if len(self._tokens) > 1:
            self._tokens.pop(0)
            return True
        return False


DENIED = refuses(401, "Unauthorized", "Unauthorized")


async def test_a_refused_credential_is_read_again_once() -> None:
    script = Script(DENIED, service())
    credentials = Rotating("old", "new")
    await Client(script, credentials).get(SERVICES, WEB)
    shown = [request.headers["Authorization"] for request in script.requests]
    assert shown == ["Bearer old", "Bearer new"]


async def test_a_credential_that_stays_the_same_is_not_tried_again() -> None:
    script = Script(DENIED, service())
    with pytest.raises(Unauthorized):
        await Client(script, Rotating("old")).get(SERVICES, WEB)
    assert len(script.requests) == 1


async def test_two_refused_credentials_are_enough() -> None:
    script = Script(DENIED, DENIED, service())
    with pytest.raises(Unauthorized):
        await Client(script, Rotating("old", "new", "newest")).get(SERVICES, WEB)
    assert len(script.requests) == 2


async def test_a_token_that_a_server_echoes_is_not_repeated() -> None:
    echo = refuses(400, "BadRequest", "you said: Bearer canary-3141")
    with pytest.raises(Rejected) as caught:
        await Client(Script(echo), Rotating("canary-3141")).get(SERVICES, WEB)
    assert "canary" not in str(caught.value)
    assert "you said: Bearer <hidden>" in str(caught.value)


async def test_a_pause_that_one_request_is_asked_for_holds_for_all() -> None:
    script = Script(
        refuses(429, "TooManyRequests", retry_after="10"), service(), service(), service()
    )
    busy = client(script)
    with pytest.raises(Throttled):
        await busy.get(SERVICES, WEB)
    async with asyncio.TaskGroup() as group:
        for _ in range(3):
            group.create_task(busy.get(SERVICES, WEB))
    first, *others = script.times
    assert all(10.0 <= time - first <= 20.0 for time in others)
    assert len(set(others)) == 3, "they do not come back all at once"


async def test_who_is_apart_waits_for_no_pause_and_no_slot_of_others() -> None:
    slow = Says((5.0, *service().body))
    script = Script(refuses(429, "TooManyRequests", retry_after="10"), service(), slow, service())
    shared = client(script, concurrency=1)
    apart = shared.apart()
    with pytest.raises(Throttled):
        await shared.get(SERVICES, WEB)
    await apart.get(SERVICES, WEB)
    async with asyncio.TaskGroup() as group:
        group.create_task(shared.get(SERVICES, WEB))
        await asyncio.sleep(25)
        await apart.get(SERVICES, WEB)
    _, second, third, fourth = script.times
    assert second == 0.0
    assert 10.0 <= third <= 20.0
    assert fourth == 25.0
    assert sum(shared.exchange.answers.values()) == 4, "all of them are counted in one place"


async def test_no_more_requests_are_under_way_than_allowed() -> None:
    answers = [Says((1.0, *service().body)) for _ in range(6)]
    script = Script(*answers)
    bounded = client(script, concurrency=2)
    async with asyncio.TaskGroup() as group:
        for _ in range(6):
            group.create_task(bounded.get(SERVICES, WEB))
    assert script.times == [0.0, 0.0, 1.0, 1.0, 2.0, 2.0]


@pytest.mark.parametrize(
    "answer, text, seconds",
    [
        pytest.param(
            Breaks(after=1000.0), "get services shop/web: no answer within 30 s", 30.0, id="none"
        ),
        pytest.param(
            Says((b"{", 1000.0)), "get services shop/web: not answered within 60 s", 60.0,
            id="an answer that does not go on",
        ),
        pytest.param(
            Says(tuple(part for _ in range(1000) for part in (b" ", 1.0))),
            "get services shop/web: not answered within 60 s", 60.0, id="a byte per second",
        ),
    ],
)  # fmt: skip
async def test_every_wait_has_an_end(answer: Says | Breaks, text: str, seconds: float) -> None:
    with pytest.raises(Unreachable) as caught:
        await client(Script(answer)).get(SERVICES, WEB)
    assert str(caught.value) == text
    assert asyncio.get_running_loop().time() == seconds


async def test_errors_of_the_transport_say_what_they_have_prevented() -> None:
    with pytest.raises(Unreachable, match=r"^get services shop/web: connection refused$"):
        await client(Script(Breaks())).get(SERVICES, WEB)


async def test_answers_are_counted() -> None:
    counting = client(Script(service(), refuses(404, "NotFound"), Breaks()))
    for _ in range(3):
        with suppress(NotFound, Unreachable):
            await counting.get(SERVICES, WEB)
    assert counting.exchange.answers == {
        ("get", "services", "200"): 1,
        ("get", "services", "404"): 1,
        ("get", "services", "Unreachable"): 1,
    }


async def test_a_request_that_we_give_up_counts_for_nothing() -> None:
    counting = client(Script())
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1), counting.watch(requests.watch_list(SERVICES, EVERYTHING, 9)):
            await asyncio.sleep(2)
    slow = client(Script(Breaks(after=5)))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await slow.get(SERVICES, WEB)
    assert counting.exchange.answers == {("watch", "services", "200"): 1}
    assert slow.exchange.answers == {}


class Noon(SystemClock):
    def utc(self) -> datetime:
        return datetime(2026, 11, 16, 12, 0, 0, tzinfo=UTC)


async def test_the_difference_of_the_clocks_is_known() -> None:
    body = {"kind": "Service", "apiVersion": "v1"} | A
    script = Script(says(body, date="Mon, 16 Nov 2026 12:00:42 GMT"), says(body, date="today"))
    asking = Client(script, clock=Noon())
    assert asking.clock_skew is None
    await asking.get(SERVICES, WEB)
    assert asking.clock_skew == 42.0
    await asking.get(SERVICES, WEB)
    assert asking.clock_skew == 42.0


async def test_requests_say_who_asks_and_what_they_understand() -> None:
    script = Script(service())
    await client(script).get(SERVICES, WEB)
    headers = script.requests[0].headers
    assert headers["User-Agent"].startswith("isthmus/")
    assert headers["Accept-Encoding"] == "gzip"
    assert headers["Accept"] == "application/json"


async def test_a_written_object_comes_back_as_the_server_has_it() -> None:
    answer = {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "shop", "uid": "u"}}
    script = Script(says(answer, 201))
    made = await client(script).apply(NAMESPACES, Namespace(metadata=Metadata(name="shop")))
    assert made.metadata.uid == "u"
    assert json.loads(script.requests[0].body)["kind"] == "Namespace"


async def test_a_refused_secret_does_not_show_in_the_error() -> None:
    message = 'Secret "db" is invalid: data: Invalid value: "canary-3141"'
    secret = Secret(metadata=Metadata(name="db", namespace="shop"), data={"key": b"canary-3141"})
    with pytest.raises(Rejected) as caught:
        await client(Script(refuses(422, "Invalid", message))).create(SECRETS, secret)
    assert "canary" not in str(caught.value)
    assert "canary" not in repr(secret)


@pytest.mark.parametrize("body", [b"<html>", b"{", b"\xff", b""])
def test_plain_json_that_is_none_is_refused(body: bytes) -> None:
    with pytest.raises(Garbled, match=r"^get /apis: the answer is not JSON: "):
        decoded_json(body, "get /apis")


def test_a_list_that_does_not_say_of_when_it_is_is_none() -> None:
    body = {"kind": "ServiceList", "apiVersion": "v1", "metadata": {"resourceVersion": ""}}
    with pytest.raises(Garbled, match=r"^it: the list has no resource version$"):
        decoded_page(SERVICES, json.dumps(body | {"items": []}).encode(), "it")


def test_objects_without_a_type_of_their_own_say_who_they_are() -> None:
    plain = {"metadata": {"name": "a", "resourceVersion": "5", "uid": "u"}}
    assert (version_of(plain), uid_of(plain)) == ("5", "u")
    assert (version_of({"metadata": {}}), uid_of({"metadata": {}})) == ("", "")


async def test_every_request_can_be_followed_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    script = Script(service())
    await Client(script, Rotating("canary-3141"), random=Random(1)).get(SERVICES, WEB)
    (told,) = [vars(one) for one in caplog.records if one.message == "asked"]
    assert (told["call"], told["outcome"]) == ("get services shop/web", "200")
    assert "canary" not in str(told)
