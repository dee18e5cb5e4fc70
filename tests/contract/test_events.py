"""Events: one object in two groups, core and ``events.k8s.io``, with other names for its fields."""

import pytest

from isthmus.kube.client import Client
from isthmus.kube.resources import EVENTS
from isthmus.model.objects import Event, Metadata, ObjectReference
from isthmus.model.wire import Json, JsonObject
from tests.contract.objects import obj, without_server_fields
from tests.contract.server import Reply, Server

MICRO = "2026-01-01T00:00:00.123456Z"
SECOND = "2026-01-01T00:00:00Z"
EMPTY_NAME = (
    "name part must be non-empty",
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
)


def modern(server: Server, name: str = "") -> str:
    """The path by which ``events.k8s.io`` shows an Event, or all of them."""
    return f"/apis/events.k8s.io/v1/namespaces/{server.namespace}/events/{name}".rstrip("/")


def about(server: Server, name: str = "web") -> JsonObject:
    return {"kind": "Service", "namespace": server.namespace, "name": name, "apiVersion": "v1"}


def core_event(name: str, server: Server, **fields: Json) -> JsonObject:
    return {
        **obj("v1", "Event", name),
        "involvedObject": about(server),
        "reason": "Refused",
        "message": "name taken",
        "type": "Warning",
        "source": {"component": "isthmus"},
        "firstTimestamp": SECOND,
        "lastTimestamp": SECOND,
        "count": 1,
        **fields,
    }


def event(name: str, server: Server, **fields: Json) -> JsonObject:
    return {
        **obj("events.k8s.io/v1", "Event", name),
        "eventTime": MICRO,
        "reportingController": "isthmus.example.org/controller",
        "reportingInstance": "controller-1",
        "action": "Mirror",
        "reason": "Refused",
        "regarding": about(server),
        "note": "name taken",
        "type": "Warning",
        **fields,
    }


async def test_an_event_tells_of_an_object(server: Server) -> None:
    made = (await server.create("events", core_event("web.1", server))).ok
    assert made["message"] == "name taken"
    counted = await server.merge("events/web.1", {"count": 2})
    assert counted.ok["count"] == 2


async def test_an_event_lives_with_its_object(server: Server) -> None:
    elsewhere = {"kind": "Service", "namespace": "other", "name": "web"}
    reply = await server.create("events", core_event("web.1", server, involvedObject=elsewhere))
    assert reply.code == 422
    assert reply.causes[0][1] == "involvedObject.namespace"


async def test_the_core_group_shows_what_the_other_one_wrote(server: Server) -> None:
    made = (await server.create(modern(server), event("web.1", server))).ok
    assert without_server_fields(made) == {
        **event("web.1", server),
        "metadata": {"name": "web.1", "namespace": server.namespace},
        "deprecatedSource": {},
        "deprecatedFirstTimestamp": None,
        "deprecatedLastTimestamp": None,
    }
    seen = (await server.get("events/web.1")).ok
    assert seen["metadata"] == made["metadata"]
    assert without_server_fields(seen) == {
        **obj("v1", "Event", "web.1", namespace=server.namespace),
        "eventTime": MICRO,
        "reportingComponent": "isthmus.example.org/controller",
        "reportingInstance": "controller-1",
        "action": "Mirror",
        "reason": "Refused",
        "involvedObject": about(server),
        "message": "name taken",
        "type": "Warning",
        "source": {},
        "firstTimestamp": None,
        "lastTimestamp": None,
    }


async def test_the_other_group_shows_what_the_core_one_wrote(server: Server) -> None:
    made = (await server.create("events", core_event("web.1", server))).ok
    seen = (await server.get(modern(server, "web.1"))).ok
    assert seen["metadata"] == made["metadata"]
    assert without_server_fields(seen) == {
        **obj("events.k8s.io/v1", "Event", "web.1", namespace=server.namespace),
        "eventTime": None,
        "reason": "Refused",
        "regarding": about(server),
        "note": "name taken",
        "type": "Warning",
        "deprecatedSource": {"component": "isthmus"},
        "deprecatedFirstTimestamp": SECOND,
        "deprecatedLastTimestamp": SECOND,
        "deprecatedCount": 1,
    }


async def test_both_groups_list_and_watch_the_same_events(server: Server) -> None:
    await server.create("events", core_event("web.1", server))
    await server.create(modern(server), event("web.2", server))
    core, other = await server.get("events"), await server.get(modern(server))
    assert core.names == other.names == ["web.1", "web.2"]
    assert core.version == other.version
    assert [item["message"] for item in core.ok["items"]] == ["name taken"] * 2
    assert [item["note"] for item in other.ok["items"]] == ["name taken"] * 2
    assert not {"kind", "apiVersion"} & other.ok["items"][0].keys()
    async with server.watch(modern(server), resourceVersion=other.version) as events:
        await server.merge("events/web.1", {"message": "still taken"})
        changed = await events.next()
    assert (changed["type"], changed["object"]["note"]) == ("MODIFIED", "still taken")
    assert changed["object"]["apiVersion"] == "events.k8s.io/v1"


async def test_an_event_deleted_in_one_group_is_gone_from_both(server: Server) -> None:
    await server.create("events", core_event("web.1", server))
    deleted = (await server.delete(modern(server, "web.1"))).ok
    assert deleted["details"]["group"] == "events.k8s.io"
    gone = [await server.get("events/web.1"), await server.get(modern(server, "web.1"))]
    assert [reply.refusal for reply in gone] == [
        (404, "NotFound", 'events "web.1" not found'),
        (404, "NotFound", 'events.events.k8s.io "web.1" not found'),
    ]


@pytest.mark.parametrize(
    "selector, names",
    [
        pytest.param("reason=Refused", ["web.1"], id="reason"),
        pytest.param("type=Normal", ["web.2"], id="type"),
        pytest.param(
            "involvedObject.name=web,involvedObject.kind=Service", ["web.1", "web.2"], id="object"
        ),
        pytest.param("involvedObject.name=other", [], id="another object"),
        pytest.param("source=isthmus", ["web.1"], id="source"),
        pytest.param("source=isthmus.example.org/controller", ["web.2"], id="reporter as source"),
    ],
)
async def test_fields_select_core_events(server: Server, selector: str, names: list[str]) -> None:
    await _two(server)
    assert (await server.get("events", fieldSelector=selector)).names == names


@pytest.mark.parametrize(
    "selector, names",
    [
        pytest.param("regarding.name=web", ["web.1", "web.2"], id="object"),
        pytest.param("reportingController!=", ["web.2"], id="reporter"),
        pytest.param("type=Normal", ["web.2"], id="type"),
    ],
)
async def test_fields_select_events_of_the_other_group(
    server: Server, selector: str, names: list[str]
) -> None:
    await _two(server)
    assert (await server.get(modern(server), fieldSelector=selector)).names == names


async def _two(server: Server) -> None:
    await server.create("events", core_event("web.1", server))
    more = event("web.2", server, reason="Mirrored", type="Normal")
    await server.create(modern(server), more)


@pytest.mark.parametrize("field", ["involvedObject.name", "source", "reportingComponent"])
async def test_each_group_selects_by_its_own_names(server: Server, field: str) -> None:
    reply = await server.get(modern(server), fieldSelector=f"{field}=x")
    assert reply.refusal == (400, "BadRequest", f"field label not supported: {field}")


def _causes(reply: Reply) -> list[tuple[str, str]]:
    assert reply.code == 422, reply
    return [(field, message) for _, field, message in reply.causes]


@pytest.mark.parametrize(
    "fields, causes",
    [
        pytest.param({"eventTime": None}, [("eventTime", "Required value")], id="no time"),
        pytest.param(
            {"reportingController": ""},
            [
                ("reportingController", "Required value"),
                *(("reportingController", f'Invalid value: "": {text}') for text in EMPTY_NAME),
            ],
            id="no reporter",
        ),
        pytest.param(
            {"reportingInstance": "", "action": "", "reason": ""},
            [(name, "Required value") for name in ("reportingInstance", "action", "reason")],
            id="no instance, action and reason",
        ),
        pytest.param(
            {"reason": "x" * 129, "note": "x" * 1025},
            [
                ("reason", 'Invalid value: "": can have at most 128 characters'),
                ("message", 'Invalid value: "": can have at most 1024 characters'),
            ],
            id="too long",
        ),
        pytest.param(
            {"type": "Other"},
            [("type", 'Invalid value: "": has invalid value: Other')],
            id="unknown type",
        ),
        pytest.param(
            {
                "deprecatedFirstTimestamp": SECOND,
                "deprecatedLastTimestamp": SECOND,
                "deprecatedCount": 1,
                "deprecatedSource": {"component": "isthmus"},
            },
            [
                (name, 'Invalid value: "": needs to be unset')
                for name in ("firstTimestamp", "lastTimestamp", "count", "source")
            ],
            id="fields of old events",
        ),
        pytest.param(
            {"series": {"count": 1}},
            [
                ("series.count", 'Invalid value: "": should be at least 2'),
                ("series.lastObservedTime", "Required value"),
            ],
            id="a series of one",
        ),
        pytest.param(
            {"regarding": {"kind": "Link", "name": "west"}},
            [("involvedObject.namespace", 'Invalid value: "": does not match event.namespace')],
            id="about an object without a namespace",
        ),
    ],
)
async def test_the_other_group_is_strict(
    server: Server, fields: JsonObject, causes: list[tuple[str, str]]
) -> None:
    reply = await server.create(modern(server), event("web.1", server, **fields))
    assert _causes(reply) == causes
    assert reply.refusal[2].startswith('Event "web.1" is invalid: ')  # without its group


async def test_in_the_other_group_only_the_series_of_an_event_goes_on(server: Server) -> None:
    await server.create(modern(server), event("web.1", server))
    series = {"count": 2, "lastObservedTime": MICRO}
    again = (await server.merge(modern(server, "web.1"), {"series": series})).ok
    assert again["series"] == series
    changed = {"note": "x", "regarding": {"name": "other"}, "related": {"kind": "Pod"}}
    reply = await server.merge(modern(server, "web.1"), changed)
    other = f'"Namespace":"{server.namespace}","Name":"other","UID":"","APIVersion":"v1"'
    assert _causes(reply) == [
        (
            "involvedObject",
            f'Invalid value: {{"Kind":"Service",{other},"ResourceVersion":"","FieldPath":""}}: '
            "field is immutable",
        ),
        ("message", 'Invalid value: "x": field is immutable'),
        (
            "related",
            'Invalid value: {"Kind":"Pod","Namespace":"","Name":"","UID":"","APIVersion":"",'
            '"ResourceVersion":"","FieldPath":""}: field is immutable',
        ),
    ]


async def test_a_core_event_with_a_time_says_who_reports_it(server: Server) -> None:
    reply = await server.create("events", core_event("web.1", server, eventTime=MICRO))
    assert [field for field, _ in _causes(reply)] == [
        *("reportingComponent",) * 3,
        "reportingInstance",
        "action",
    ]


async def test_only_core_events_have_any_name(server: Server) -> None:
    assert (await server.create("events", core_event("Odd_Name", server))).code == 201
    reply = await server.create(modern(server), event("Odd_Name_2", server))
    assert [field for field, _ in _causes(reply)] == ["metadata.name"]


async def test_an_event_of_the_one_group_is_not_written_to_the_other(server: Server) -> None:
    reply = await server.create(modern(server), core_event("web.1", server))
    assert reply.refusal == (
        400,
        "BadRequest",
        "the API version in the data (v1) does not match the expected API version "
        "(events.k8s.io/v1)",
    )


async def test_a_write_in_one_group_forgets_the_owners_of_the_other(server: Server) -> None:
    await server.apply(modern(server, "web.1"), event("web.1", server))
    changed = (await server.merge("events/web.1", {"message": "changed"})).ok
    (owner,) = changed["metadata"]["managedFields"]
    assert (owner["apiVersion"], owner["fieldsV1"]) == ("v1", {"f:message": {}})


async def test_our_client_writes_events(server: Server) -> None:
    client = Client(server.transport(None))
    given = Event(
        metadata=Metadata(name="web.1", namespace=server.namespace),
        event_time=MICRO,
        reporting_controller="isthmus.example.org/controller",
        reporting_instance="controller-1",
        action="Mirror",
        reason="Refused",
        note="name taken",
        type="Warning",
        regarding=ObjectReference(kind="Service", namespace=server.namespace, name="web"),
    )
    made = await client.create(EVENTS, given)
    assert (made.note, made.event_time) == ("name taken", MICRO)
    assert (await server.get("events/web.1")).ok["message"] == "name taken"
