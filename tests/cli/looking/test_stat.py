"""``isthmus stat``, as it is typed and as it answers."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
import yaml

from isthmus.cli.looking import known, statviews
from isthmus.cli.looking.golden import Line
from isthmus.cli.looking.sampling import Wanted, sampled
from isthmus.embedded.faults.effects import failing
from isthmus.kube.errors import Forbidden, Unreachable
from isthmus.model.objects import Key
from tests.apps.clusters import LINKS, PLAIN_NAMESPACES, SERVICES, exported, link
from tests.cli.joining.desk import rule
from tests.cli.looking.stage import Printed, Stage, page, stage

pytestmark = pytest.mark.sockets

TOTAL = """\
DIRECTION   LINK   NAMESPACE   SERVICE     SUCCESS   REQUESTS   P50      P95      P99      CONNS   IN        OUT
out         west   default     echo-west   -         -          -        -        -        2       5B        5B
out         west   default     web-west    100.00%   23         0.38ms   4.34ms   4.87ms   24      3.10KiB   9.02KiB
in          -      default     echo        -         -          -        -        -        1       5B        5B
in          -      default     web         100.00%   20         0.33ms   4ms      4.80ms   2       7.29KiB   8.22KiB

DIRECTION   LINK   NAMESPACE   SERVICE   DENIED   REASON    MEANS
out         -      -           -         1        NoPod     the call came from an address that is no pod's
in          -      -           -         4        NoGrant   the caller is not named by a Grant
"""  # noqa: E501  # as wide as it is


class _Latency(msgspec.Struct, forbid_unknown_fields=True):
    p50: float | None
    p95: float | None
    p99: float | None


class _Traffic(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    direction: str
    link: str
    namespace: str
    service: str
    requests: float | None
    success: float | None
    latency_ms: _Latency
    connections: float
    open_connections: float | None
    bytes_in: float
    bytes_out: float


class _Denial(msgspec.Struct, forbid_unknown_fields=True):
    direction: str
    link: str
    namespace: str
    service: str
    reason: str
    count: float


class Document(msgspec.Struct, forbid_unknown_fields=True):
    """The schema of ``-o json``."""

    window: float | None
    traffic: list[_Traffic]
    denials: list[_Denial]
    unread: list[str]


@dataclass
class Steps:
    """A clock on which time passes only while somebody sleeps."""

    at: float = 0.0

    def now(self) -> float:
        return self.at

    def utc(self) -> datetime:
        return datetime(2026, 1, 2, tzinfo=UTC)

    async def sleep(self, seconds: float) -> None:
        self.at += seconds


async def proxies(here: Stage) -> None:
    """Proxies that show what real ones have shown, before calls and after them."""
    for role in ("egress", "gateway"):
        await here.start(role, prometheus=[page(f"{role}-{number}") for number in (0, 1, 1)])


async def at_their_end(here: Stage) -> None:
    for role in ("egress", "gateway"):
        await here.start(role, prometheus=page(f"{role}-1"))


async def test_the_total_is_shown_for_people(tmp_path: Path, capsys: Printed) -> None:
    async with stage(tmp_path) as here:
        await at_their_end(here)
        assert await here.run("stat", "--total") == 0
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == (TOTAL, "")


async def test_the_data_has_its_schema(tmp_path: Path, capsys: Printed) -> None:
    async with stage(tmp_path) as here:
        await at_their_end(here)
        assert await here.run("stat", "--total", "-o", "json") == 0
        found = msgspec.json.decode(capsys.readouterr().out, type=Document)
        assert await here.run("stat", "--total", "-o", "yaml") == 0
        assert msgspec.convert(yaml.safe_load(capsys.readouterr().out), Document) == found
    assert found.window is None
    web = found.traffic[1]
    assert (web.service, web.requests, web.connections, web.bytes_in) == ("web-west", 23, 24, 3174)
    assert [(one.reason, one.count) for one in found.denials] == [
        ("NoPod", 1),
        ("NoGrant", 4),
    ]
    assert found.unread == []


async def test_two_looks_make_rates(tmp_path: Path) -> None:
    waited: list[float] = []
    async with stage(tmp_path) as here:
        await proxies(here)
        wanted = Wanted(namespace="isthmus", seconds=10.0, only=Line("", "", "", "web-west"))
        found = await sampled(here.east.client, wanted, Steps(), waited.append)
    assert waited == [10.0]
    (web,) = found.traffic
    assert web.success == 1.0
    assert [web.requests, web.received, web.sent] == pytest.approx([2.3, 317.4, 924.1])
    lines = statviews.rendered(found, "table").splitlines()
    assert lines[0].split()[4:] == [
        *("SUCCESS", "REQ/S", "P50", "P95", "P99", "CONN/S", "IN/S", "OUT/S")
    ]
    assert lines[1].split()[4:6] == ["100.00%", "2.30"]


async def test_a_window_is_waited_for(tmp_path: Path, capsys: Printed) -> None:
    async with stage(tmp_path) as here:
        await proxies(here)
        assert await here.run("stat", "web-west", "--window", "200ms", "-o", "json") == 0
    found = msgspec.json.decode(capsys.readouterr().out, type=Document)
    assert found.window == 0.2
    (web,) = found.traffic
    assert 0 < (web.requests or 0) <= 23 / 0.2


async def test_a_pod_that_has_restarted_counts_from_nothing(tmp_path: Path) -> None:
    async with stage(tmp_path) as here:
        await here.start("egress", prometheus=[page("egress-1"), page("egress-0")])
        wanted = Wanted(namespace="isthmus", seconds=10.0)
        found = await sampled(here.east.client, wanted, Steps(), lambda _: None)
    assert all((one.requests or 0) >= 0 and one.received >= 0 for one in found.traffic)


async def test_services_of_a_link_are_added_up(tmp_path: Path, capsys: Printed) -> None:
    async with stage(tmp_path) as here:
        await at_their_end(here)
        assert await here.run("stat", "--total", "--by", "link", "--link", "west") == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert rows[1][:6] == ["out", "west", "-", "-", "100.00%", "23"]
    assert len(rows) == 2


async def test_a_proxy_that_does_not_answer_is_named_and_the_others_are_shown(
    tmp_path: Path, capsys: Printed
) -> None:
    async with stage(tmp_path) as here:
        await at_their_end(here)
        runner = await here.start("gateway", "isthmus-gateway-1")
        await runner.cleanup()
        assert await here.run("stat", "--total") == 0
    printed = capsys.readouterr()
    assert printed.out == TOTAL
    assert printed.err.startswith("not counted: get pods/proxy isthmus/isthmus-gateway-1:9991/")


async def test_a_page_that_is_none_is_named(tmp_path: Path, capsys: Printed) -> None:
    async with stage(tmp_path) as here:
        texts = ["envoy_http_downstream_rq{ what", "envoy_http_downstream_rq{} \x1b[2J"]
        await here.start("egress", prometheus=texts)
        for _ in texts:
            assert await here.run("stat", "--total") == 75
            said = "pod isthmus/isthmus-egress-0 at port 9991: the page does not hold numbers"
            assert said in capsys.readouterr().err


async def test_who_may_not_read_pages_is_told_the_right_that_is_missing(
    tmp_path: Path, capsys: Printed
) -> None:
    async with stage(tmp_path) as here:
        await at_their_end(here)
        await here.desk.become(here.east, rule("", "pods", "list"))
        assert await here.run("stat", "--total") == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "it takes the verb get on pods/proxy in namespace isthmus" in printed.err


async def test_where_no_proxy_runs_that_is_said(tmp_path: Path, capsys: Printed) -> None:
    async with stage(tmp_path) as here:
        assert await here.run("stat") == 1
        said = "no egress or gateway runs in namespace isthmus"
        assert said in capsys.readouterr().err
        assert await here.run("stat", "--namespace", "other") == 1
        assert "namespace other" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words, said",
    [
        ("nosuch", "no Service nosuch is exported or imported here; known are: shop/fresh"),
        ("default/fresh", "no Service default/fresh is exported or imported here; known are: "),
        ("--link nosuch", "there is no Link nosuch in this cluster; known are: north"),
    ],
)
async def test_what_is_not_there_is_not_shown_as_if_nothing_happened_to_it(
    words: str, said: str, tmp_path: Path, capsys: Printed
) -> None:
    async with stage(tmp_path) as here:
        await fresh(here)
        assert await here.run("stat", *words.split()) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert said in printed.err


@pytest.mark.parametrize("words", ["fresh", "shop/fresh", "--link north", "--link west web-west"])
async def test_what_has_carried_nothing_yet_is_there_all_the_same(
    words: str, tmp_path: Path
) -> None:
    async with stage(tmp_path) as here:
        await fresh(here)
        assert await here.run("stat", "--total", *words.split()) == 0


async def fresh(here: Stage) -> None:
    """Proxies that have counted for others, an export and a Link."""
    await at_their_end(here)
    await here.east.create(PLAIN_NAMESPACES, {"metadata": {"name": "shop"}})
    await here.east.create(SERVICES, exported("fresh", namespace="shop"))
    await here.east.create(LINKS, link("north"))


def test_an_error_lists_no_more_than_can_be_read() -> None:
    keys = {Key("shop", f"web-{number:02}") for number in range(12)}
    said = str(known.unknown(Line("", "", "", "nosuch"), keys))
    assert said.endswith("shop/web-08, shop/web-09 and 2 more, see `isthmus services -A`")


async def test_mistakes_are_named(tmp_path: Path, capsys: Printed) -> None:
    async with stage(tmp_path) as here:
        for words, code, said in (
            ("--window soon", 2, "not a duration such as 30s"),
            ("--window 0s", 2, "from 100ms to 1h"),
            ("--window 2h", 2, "from 100ms to 1h"),
            ("--direction up", 2, "'in', 'out'"),
            ("--context none", 1, "there is no context none"),
            ("a/b/c", 2, "'a/b/c' is neither a name nor namespace/name"),
            ("/a", 2, "'/a' is neither a name nor namespace/name"),
            ("a/", 2, "'a/' is neither a name nor namespace/name"),
        ):
            assert await here.run("stat", *words.split()) == code
            assert said in capsys.readouterr().err


async def test_without_a_cluster_one_line_says_so(tmp_path: Path, capsys: Printed) -> None:
    async with stage(tmp_path) as here:
        desk = here.desk
    assert await desk.run("stat") == 75
    assert capsys.readouterr().err.count("\n") == 1


async def test_errors_keep_their_kind(tmp_path: Path) -> None:
    """Whether to try again is for the error to say."""
    wanted = Wanted(namespace="isthmus", seconds=None)
    async with stage(tmp_path) as here:
        runner = await here.start("egress")
        await runner.cleanup()
        with pytest.raises(Unreachable):
            await sampled(here.east.client, wanted, Steps(), lambda _: None)
        here.east.cluster.faults.add(failing(403), lambda request: "/proxy/" in request.path)
        with pytest.raises(Forbidden):
            await sampled(here.east.client, wanted, Steps(), lambda _: None)
