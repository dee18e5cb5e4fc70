"""The smaller parts of the controller, each by itself."""

import json
import logging

import pytest

from isthmus.apps.controller.config import BadOption, Config
from isthmus.apps.controller.logs import JsonLines, Text
from isthmus.apps.controller.mirroring.expected import GONE, PATIENCE, Expected, Thing
from isthmus.model.objects import Key, Namespace, Service
from isthmus.model.times import seconds
from isthmus.runtime.workqueue import Lane

NAME = Key("shop", "web-west")
WEB = Thing(Service, NAME)


class Hand:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        return self.time


@pytest.mark.parametrize(
    "history, rests, queued",
    [
        pytest.param("", False, "", id="nothing written"),
        pytest.param("write", True, "", id="not answered yet"),
        pytest.param("write see:7", True, "", id="shown, and not answered yet"),
        pytest.param("write answer:7 end", True, "", id="not shown yet"),
        pytest.param("write answer:7 see:7", True, "", id="shown, and more may be written"),
        pytest.param("write answer:7 see:7 end", False, "bulk", id="shown before the end"),
        pytest.param("write answer:7 end see:7", False, "bulk", id="shown after the answer"),
        pytest.param("write see:7 answer:7 end", False, "bulk", id="shown before the answer"),
        pytest.param("write see:7 see:8 answer:7 end", False, "bulk", id="overtaken"),
        pytest.param("write see:6 answer:7 end", True, "", id="an older version shows nothing"),
        pytest.param("see:7 write answer:7 end", True, "", id="seen before does not count"),
        pytest.param("write answer: end gone", False, "bulk", id="deleted"),
        pytest.param("write gone answer: end", False, "bulk", id="deleted before the answer"),
        pytest.param("write answer: end see:9", True, "", id="not deleted"),
        pytest.param("write answer:7 end relist", False, "bulk", id="a snapshot shows everything"),
        pytest.param("write answer: write answer:8 end", True, "", id="replaced, and not shown"),
        pytest.param("write answer: write answer:8 end gone", True, "", id="the first half only"),
        pytest.param("write answer: write answer:8 end gone see:8", False, "bulk", id="both"),
        pytest.param("write answer:7 end wait", False, "", id="not for ever"),
        pytest.param("write fail", False, "", id="a write that failed is none"),
        pytest.param("write answer:7 write fail", False, "", id="half of the writes"),
        pytest.param("write answer:7 fail see:7", False, "", id="what is seen later wakes nobody"),
        pytest.param("bulk:", False, "", id="queued by others"),
        pytest.param("write bulk: answer:7 end", True, "", id="a wish waits"),
        pytest.param("write bulk: answer:7 end see:7", False, "bulk", id="and is met"),
        pytest.param("write single: bulk: answer:7 end see:7", False, "single", id="by its lane"),
        pytest.param("write bulk: single: answer:7 end see:7", False, "single", id="the better"),
        pytest.param("write bulk: fail", False, "bulk", id="also after a failure"),
        pytest.param("write answer:7 end:0.5 see:7", True, "", id="a pause, although all is shown"),
        pytest.param("write answer:7 end:0.5 see:7 wait:0.5", False, "", id="whose timer wakes it"),
        pytest.param("write answer:7 end:0.5 see:7 wait:0.4999", False, "", id="or a grain early"),
        pytest.param("write answer:7 end:0.5 wait:0.5", True, "", id="and not before it is shown"),
        pytest.param("write answer:7 end:0.5 wait:0.5 see:7", False, "single", id="before others"),
    ],
)
def test_a_name_rests_until_its_writes_are_shown(history: str, rests: bool, queued: str) -> None:
    clock, queue = Hand(), list[tuple[Key, Lane]]()
    expected = Expected(clock, lambda *entry: queue.append(entry))  # type: ignore[arg-type]  # of a clock it uses the time only
    for step in history.split():
        verb, _, version = step.partition(":")
        match verb:
            case "write":
                expected.writing(NAME, WEB)
            case "answer":
                expected.written(NAME, WEB, version)
            case "end":
                expected.finished(NAME, float(version or 0))
            case "see":
                expected.seen(WEB, version)
            case "gone":
                expected.seen(WEB, GONE)
            case "relist":
                expected.relisted(Service)
            case "fail":
                expected.failed(NAME)
            case "bulk" | "single":
                expected.defers(NAME, Lane[verb.upper()])
            case "wait":
                clock.time += float(version or PATIENCE)
    assert (expected.left(NAME) > 0) == rests
    assert queue == ([(NAME, Lane[queued.upper()])] if queued else [])


def test_two_names_may_write_the_same_namespace_at_a_time() -> None:
    """Whoever comes second finds it there, and waits for the same to be shown."""
    queue = list[Key]()
    expected = Expected(Hand(), lambda name, _: queue.append(name))  # type: ignore[arg-type]  # as above
    shop, first, second = Thing(Namespace, Key("", "shop")), Key("shop", "a"), Key("shop", "b")
    for name in (first, second):
        expected.writing(name, shop)
    expected.written(first, shop, "7")
    expected.finished(first)
    expected.seen(shop, "7")
    assert queue == [first]
    expected.written(second, shop, "7")
    expected.finished(second)
    assert queue == [first, second]
    for name in (first, second):
        expected.writing(name, shop)
        expected.written(name, shop, "8")
        expected.finished(name)
    expected.failed(first)
    assert expected.left(second) > 0
    expected.seen(shop, "8")
    assert queue == [first, second, second]


@pytest.mark.parametrize(
    "text, expected",
    [("3s", 3.0), ("500ms", 0.5), ("1m30s", 90.0), ("1h", 3600.0)],
)
def test_durations_are_read_as_go_writes_them(text: str, expected: float) -> None:
    assert seconds(text) == expected


@pytest.mark.parametrize("text", ["", "3", "s", "-3s", "3 s", "1e9s", "3s junk"])
def test_anything_else_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="not a duration"):
        seconds(text)


@pytest.mark.parametrize(
    "options, named",
    [
        pytest.param({"cluster_name": "East"}, "--cluster-name", id="upper case"),
        pytest.param({"cluster_name": ""}, "--cluster-name", id="empty"),
        pytest.param({"cluster_name": "a" * 64}, "--cluster-name", id="too long"),
        pytest.param({"cluster_name": "east", "namespace": "a/b"}, "--namespace", id="slash"),
        pytest.param(
            {"cluster_name": "east", "local_cidrs": ("10.0.0.1/8",)}, "--local-cidr", id="no range"
        ),
        pytest.param({"cluster_name": "east", "workers": 0}, "--workers", id="no workers"),
    ],
)
def test_options_that_make_no_sense_are_refused_by_name(
    options: dict[str, object], named: str
) -> None:
    with pytest.raises(BadOption, match=named):
        Config(**options)  # type: ignore[arg-type]  # that is the point


def test_a_log_line_is_one_line_of_json_with_its_fields() -> None:
    record = logging.makeLogRecord(
        {"name": "isthmus", "levelname": "INFO", "msg": "two\nlines", "link": "west", "count": 3}
    )
    line = JsonLines().format(record)
    assert "\n" not in line
    found = json.loads(line)
    assert found | {"ts": ""} == {
        "ts": "",
        "level": "info",
        "logger": "isthmus",
        "message": "two\nlines",
        "link": "west",
        "count": 3,
    }
    assert "link='west' count=3" in Text().format(record)
