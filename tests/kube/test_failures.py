"""Every answer that is not the one we wanted, and the error it becomes."""

import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.kube.errors import (
    Ahead,
    AlreadyExists,
    Conflict,
    Expired,
    Forbidden,
    Garbled,
    NotFound,
    Rejected,
    Throttled,
    Unauthorized,
    Unavailable,
)
from isthmus.kube.failures import failure
from isthmus.model.errors import IsthmusError, Permanent, Transient
from isthmus.model.wire import Json
from tests.support.scripted import refusal

JSON = {"content-type": "application/json"}
HTML = {"content-type": "text/html; charset=utf-8"}
TEXT = {"content-type": "text/plain; charset=utf-8"}
PAGE = b"<!doctype html>\n<title>Sign in</title>" + b"<p>please" * 100


def said(code: int, reason: str, message: str = "no", **details: Json) -> bytes:
    return json.dumps(refusal(code, reason, message, **details)).encode()


def causes(reason: str) -> Json:
    return {"causes": [{"reason": reason, "message": "why", "field": "spec.x"}]}


@pytest.mark.parametrize(
    "status, headers, body, expected, text",
    [
        pytest.param(400, JSON, said(400, "BadRequest"), Rejected,
                     "get services shop/web: no (400)", id="400"),
        pytest.param(401, JSON, said(401, "Unauthorized", "Unauthorized"), Unauthorized,
                     "get services shop/web: Unauthorized", id="401"),
        pytest.param(403, JSON, said(403, "Forbidden"), Forbidden,
                     "get services shop/web: no", id="403"),
        pytest.param(404, JSON, said(404, "NotFound", 'services "web" not found'), NotFound,
                     'get services shop/web: services "web" not found', id="404"),
        pytest.param(404, TEXT, b"404 page not found\n", NotFound,
                     "get services shop/web: 404 page not found", id="404 without a Status"),
        pytest.param(409, JSON, said(409, "AlreadyExists"), AlreadyExists,
                     "get services shop/web: no", id="409, the name is taken"),
        pytest.param(409, JSON, said(409, "Conflict"), Conflict,
                     "get services shop/web: no", id="409, somebody was faster"),
        pytest.param(410, JSON, said(410, "Expired"), Expired,
                     "get services shop/web: no", id="410"),
        pytest.param(413, TEXT, b"too large", Rejected,
                     "get services shop/web: too large (413)", id="413"),
        pytest.param(415, JSON, said(415, "UnsupportedMediaType"), Rejected,
                     "get services shop/web: no (415)", id="415"),
        pytest.param(422, JSON, said(422, "Invalid"), Rejected,
                     "get services shop/web: no (422)", id="422"),
        pytest.param(429, TEXT, b"Too many requests, please try again later.\n", Throttled,
                     "get services shop/web: Too many requests, please try again later.", id="429"),
        pytest.param(500, JSON, said(500, "InternalError", "etcd is away"), Unavailable,
                     "get services shop/web: etcd is away (500)", id="500"),
        pytest.param(503, JSON, said(503, "ServiceUnavailable", ""), Unavailable,
                     "get services shop/web: ServiceUnavailable (503)", id="503, no message"),
        pytest.param(429, JSON, b"{}", Throttled,
                     "get services shop/web: Too Many Requests (429)", id="429, no words"),
        pytest.param(503, JSON, b"{}\n", Unavailable,
                     "get services shop/web: Service Unavailable (503)", id="503, no words"),
        pytest.param(503, JSON, said(503, "", ""), Unavailable,
                     "get services shop/web: Service Unavailable (503)", id="503, empty Status"),
        pytest.param(599, JSON, b"", Unavailable,
                     "get services shop/web: no reason given (599)", id="a code without a phrase"),
        pytest.param(503, HTML, PAGE, Unavailable,
                     "get services shop/web: the answer (503) is not the Kubernetes API's but "
                     "text/html beginning with '<!doctype html> <title>Sign in</title><p>please"
                     "<p>please<p>…' (503)", id="503 of a load balancer"),
        pytest.param(504, JSON, said(504, "Timeout", "Too large resource version: 9, current: 7",
                                     **causes("ResourceVersionTooLarge")), Ahead,
                     "get services shop/web: Too large resource version: 9, current: 7",
                     id="504, a version from the future"),
        pytest.param(504, JSON, said(504, "Timeout"), Unavailable,
                     "get services shop/web: no (504)", id="504"),
        pytest.param(302, {"location": "https://user:pw@login.example.com/x?token=1"}, b"",
                     Rejected, "get services shop/web: the server redirects to login.example.com; "
                     "not followed. Is its address right?", id="a redirect names its host only"),
        pytest.param(307, {"location": "http://[broken"}, b"", Rejected,
                     "get services shop/web: the server redirects elsewhere; not followed. "
                     "Is its address right?", id="a redirect to nowhere"),
        pytest.param(200, HTML, PAGE, Garbled,
                     "get services shop/web: the answer (200) is not the Kubernetes API's but "
                     "text/html beginning with '<!doctype html> <title>Sign in</title><p>please"
                     "<p>please<p>…'", id="200 with HTML"),
        pytest.param(404, HTML, b"<h1>Not Found</h1>", Garbled,
                     "get services shop/web: the answer (404) is not the Kubernetes API's but "
                     "text/html beginning with '<h1>Not Found</h1>'",
                     id="404 of a web server says nothing about our object"),
        pytest.param(403, {}, b"<h1>no", Garbled,
                     "get services shop/web: the answer (403) is not the Kubernetes API's but "
                     "untyped beginning with '<h1>no'", id="HTML that does not say so"),
        pytest.param(400, JSON, said(400, "BadRequest", "a\nb\x1b[31m" + "x" * 400), Rejected,
                     "get services shop/web: a b [31m" + "x" * 291 + "… (400)",
                     id="a message is quoted on one line, and not for ever"),
        pytest.param(400, JSON, said(400, "Bad\x1b[31m" + "x" * 400, ""), Rejected,
                     "get services shop/web: Bad [31m" + "x" * 291 + "… (400)",
                     id="and so is a reason that stands for it"),
    ],
)  # fmt: skip
def test_failure(
    status: int, headers: Mapping[str, str], body: bytes, expected: type[IsthmusError], text: str
) -> None:
    error = failure(status, headers, body, "get services shop/web")
    assert (type(error), str(error)) == (expected, text)


def test_a_terminating_namespace_is_told_from_a_missing_right() -> None:
    body = said(403, "Forbidden", **causes("NamespaceTerminating"))
    error = failure(403, JSON, body, "create")
    assert isinstance(error, Forbidden)
    assert error.terminating


@pytest.mark.parametrize(
    "headers, details, expected",
    [
        pytest.param({"retry-after": "7"}, {}, 7.0, id="seconds"),
        pytest.param({"retry-after": "86400"}, {}, 60.0, id="too long"),
        pytest.param({"retry-after": "9" * 400}, {}, 60.0, id="absurd"),
        pytest.param({"retry-after": "-5"}, {}, None, id="negative"),
        pytest.param({"retry-after": "soon"}, {}, None, id="words"),
        pytest.param(
            {"retry-after": "Mon, 16 Nov 2026 10:00:30 GMT",
             "date": "Mon, 16 Nov 2026 10:00:00 GMT"}, {}, 30.0, id="a date"),
        pytest.param(
            {"retry-after": "Mon, 16 Nov 2026 09:00:00 GMT",
             "date": "Mon, 16 Nov 2026 10:00:00 GMT"}, {}, 0.0, id="a date in the past"),
        pytest.param({"retry-after": "Mon, 16 Nov 2026 10:00:30 GMT"}, {}, None,
                     id="a date, but no clock to read it by"),
        pytest.param({}, {"retryAfterSeconds": 3}, 3.0, id="in the body"),
        pytest.param({}, {}, None, id="no wish"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("status", [429, 503])
def test_the_wish_for_a_pause(
    status: int, headers: Mapping[str, str], details: dict[str, Json], expected: float | None
) -> None:
    error = failure(status, headers, said(status, "x", **details), "list")
    assert isinstance(error, Unavailable)
    assert error.retry_after == expected


def test_a_refused_secret_is_not_quoted() -> None:
    body = said(422, "Invalid", 'data: Invalid value: "hunter2"', **causes("FieldValueInvalid"))
    error = failure(422, JSON, body, "create secrets shop/db", secret=True)
    text = "create secrets shop/db: refused: spec.x (FieldValueInvalid) (422)"
    assert str(error) == text


@given(
    status=st.integers(100, 599),
    kind=st.sampled_from(["", "application/json", "text/html", "\x00"]),
    body=st.binary(max_size=200) | st.just(said(410, "Expired")),
)
def test_any_answer_becomes_an_error_in_one_line(status: int, kind: str, body: bytes) -> None:
    error = failure(status, {"content-type": kind}, body, "get x")
    assert isinstance(error, Transient | Permanent)
    assert str(error).isprintable()
    assert len(str(error)) < 600
