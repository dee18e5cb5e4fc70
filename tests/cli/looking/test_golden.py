"""What proxies count becomes traffic and denials."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.cli.looking import golden
from isthmus.cli.looking.exposition import Numbers, Series, numbers
from isthmus.cli.looking.golden import ANY, Line, denials, rates, summed, traffic
from tests.cli.looking.stage import page

WEB_OUT = Line("out", "west", "default", "web-west")
ECHO_OUT = Line("out", "west", "default", "echo-west")
WEB_IN = Line("in", "", "default", "web")
ECHO_IN = Line("in", "", "default", "echo")
LABELS = (
    ("isthmus_direction", "out"),
    ("isthmus_link", "west"),
    ("isthmus_namespace", "shop"),
    ("isthmus_service", "web-west"),
)


def shown(name: str) -> Numbers:
    return numbers(page(name), golden.NAMES)


def counted(name: str, value: float, **more: str) -> Numbers:
    labels = tuple(sorted((*LABELS, *((f"isthmus_{key}", one) for key, one in more.items()))))
    return {Series(name, labels): value}


def test_an_egress_tells_the_traffic_of_its_mirrors() -> None:
    echo, web = traffic(shown("egress-1"))
    assert (web.line, echo.line) == (WEB_OUT, ECHO_OUT)
    assert (web.requests, web.success, web.connections, web.open) == (23, 1.0, 24, 0)
    assert (web.received, web.sent) == (3174, 9241)
    assert 0 < (web.latency["p50"] or 0) <= (web.latency["p99"] or 0) < 10
    assert (echo.requests, echo.success, echo.open) == (None, None, None)
    assert (echo.connections, echo.received, echo.sent) == (2, 5, 5)
    assert set(echo.latency.values()) == {None}


def test_a_gateway_tells_the_traffic_of_its_exports() -> None:
    echo, web = traffic(shown("gateway-1"))
    assert (web.line, echo.line) == (WEB_IN, ECHO_IN)
    assert (web.requests, web.success, web.connections, web.open) == (20, 1.0, 2, 2)
    assert (web.received, web.sent) == (7460, 8420)
    assert (echo.requests, echo.connections, echo.received, echo.sent) == (None, 1, 5, 5)


def test_both_together_show_what_goes_out_first() -> None:
    both = traffic(summed([shown("gateway-1"), shown("egress-1")]))
    assert [one.line for one in both] == [ECHO_OUT, WEB_OUT, ECHO_IN, WEB_IN]


def test_two_pods_add_up() -> None:
    one = traffic(shown("egress-1"))[1]
    two = traffic(summed([shown("egress-1")] * 2))[1]
    assert (two.requests, two.received) == (46, 2 * 3174)
    assert two.latency == pytest.approx(one.latency)


def test_services_of_a_link_are_added_up() -> None:
    (west,) = traffic(shown("egress-1"), by_link=True)
    assert west.line == Line("out", "west", "", "")
    assert (west.requests, west.connections, west.received) == (23, 26, 3179)


@pytest.mark.parametrize(
    "only, expected",
    [
        pytest.param(ANY, [ECHO_OUT, WEB_OUT, ECHO_IN, WEB_IN], id="anything"),
        pytest.param(Line("in", "", "", ""), [ECHO_IN, WEB_IN], id="a direction"),
        pytest.param(Line("", "west", "", ""), [ECHO_OUT, WEB_OUT], id="a link"),
        pytest.param(Line("", "", "", "web"), [WEB_IN], id="a name"),
        pytest.param(Line("", "", "default", "web-west"), [WEB_OUT], id="a namespace and a name"),
        pytest.param(Line("", "", "other", "web-west"), [], id="another namespace"),
    ],
)
def test_what_is_not_asked_for_is_left_out(only: Line, expected: list[Line]) -> None:
    both = summed([shown("gateway-1"), shown("egress-1")])
    assert [one.line for one in traffic(both, only)] == expected


def test_only_failures_of_servers_are_failures() -> None:
    classes = {"2xx": 80.0, "4xx": 15.0, "5xx": 5.0}
    (web,) = traffic(
        summed(
            counted("envoy_http_downstream_rq", count, status_class=name)
            for name, count in classes.items()
        )
    )
    assert (web.requests, web.success) == (100, 0.95)


def test_nothing_has_no_success() -> None:
    (web,) = traffic(counted("envoy_http_downstream_rq", 0.0, status_class="2xx"))
    assert (web.requests, web.success) == (0, None)


@pytest.mark.parametrize(
    "before, after, expected",
    [
        pytest.param({}, counted("x", 10), 5.0, id="new"),
        pytest.param(counted("x", 4), counted("x", 10), 3.0, id="grown"),
        pytest.param(counted("x", 10), counted("x", 10), 0.0, id="at rest"),
        pytest.param(counted("x", 10), counted("x", 4), 2.0, id="restarted"),
        pytest.param(
            counted("envoy_http_downstream_cx_active", 10),
            counted("envoy_http_downstream_cx_active", 4),
            4.0,
            id="not a counter",
        ),
    ],
)
def test_rates(before: Numbers, after: Numbers, expected: float) -> None:
    assert list(rates(before, after, 2.0).values()) == [expected]


@given(before=st.integers(0, 10**9), more=st.integers(0, 10**6), seconds=st.floats(0.1, 3600))
def test_a_rate_is_never_negative_and_adds_up(before: int, more: int, seconds: float) -> None:
    (rate,) = rates(counted("x", before), counted("x", before + more), seconds).values()
    assert rate * seconds == pytest.approx(more)


def test_denials_are_named_by_their_reason() -> None:
    (one,) = denials(shown("gateway-1"))
    assert (one.line, one.reason, one.count) == (Line("in", "", "", ""), "NoGrant", 4)


def test_requests_and_connections_that_are_denied_for_the_same_reason_add_up() -> None:
    names = ("envoy_http_gateway_no_route", "envoy_tcp_tunnels_downstream_cx_no_route")
    (one,) = denials({Series(name, ()): 2.0 for name in names})
    assert (one.reason, one.count) == ("NotExported", 4)


def test_an_egress_says_whom_a_denial_is_about() -> None:
    (one,) = denials(counted("envoy_http_no_cluster", 3))
    assert (one.line, one.reason) == (Line("out", "west", "shop", "web-west"), "NoPod")


def test_every_reason_is_explained() -> None:
    reasons = {reason for _, reason in golden.DENIED.values()}
    assert reasons == golden.REASONS.keys()
