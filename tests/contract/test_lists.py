"""Lists: order, selectors, and what a list says of itself."""

import pytest

from isthmus.apps.controller.carrying.calling import LIVE
from tests.contract.objects import config, namespace, pod, secret, service
from tests.contract.server import Server
from tests.support.waiting import until


async def fill(server: Server) -> None:
    for name, labels in (
        ("a", {"colour": "red", "size": "1"}),
        ("b", {"colour": "blue"}),
        ("c", {"colour": "red", "size": "2"}),
        ("d", {}),
    ):
        await server.create("configmaps", config(name, labels={"mine": "yes", **labels}))


async def test_a_list_has_a_kind_a_version_and_bare_items(server: Server) -> None:
    made = await server.create("services", service())
    reply = await server.get("services")
    assert reply.ok["kind"] == "ServiceList"
    assert reply.ok["apiVersion"] == "v1"
    assert int(reply.version) >= int(made.version)
    (item,) = reply.ok["items"]
    assert "kind" not in item
    assert "apiVersion" not in item
    assert {"kind": "Service", "apiVersion": "v1", **item} == made.ok


async def test_an_empty_list_has_items(server: Server) -> None:
    reply = await server.get("services")
    assert reply.ok["items"] == []
    assert reply.ok["metadata"].keys() == {"resourceVersion"}


async def test_lists_are_ordered_by_name(server: Server) -> None:
    for name in ("b", "a.z", "a", "a-b", "c10", "c2"):
        await server.create("configmaps", config(name, labels={"mine": "yes"}))
    reply = await server.get("configmaps", labelSelector="mine")
    assert reply.names == ["a", "a-b", "a.z", "b", "c10", "c2"]


@pytest.mark.parametrize(
    "selector, names",
    [
        pytest.param("colour=red", "ac", id="equal"),
        pytest.param("colour==red", "ac", id="equal, doubled"),
        pytest.param("colour!=red", "bd", id="not equal includes those without it"),
        pytest.param("colour in (red, blue)", "abc", id="in"),
        pytest.param("colour notin (red)", "bd", id="notin includes those without it"),
        pytest.param("size", "ac", id="exists"),
        pytest.param("!size", "bd", id="does not exist"),
        pytest.param("colour=red,size=2", "c", id="both"),
        pytest.param("size>1", "c", id="greater"),
        pytest.param("size<2", "a", id="less"),
        pytest.param("colour in (green)", "", id="none"),
        pytest.param("colour=", "", id="empty value"),
        pytest.param("colour in (red,)", "ac", id="in, with an empty value"),
        pytest.param("colour in ()", "", id="in, with the empty value only"),
    ],
)
async def test_labels_select(server: Server, selector: str, names: str) -> None:
    await fill(server)
    reply = await server.get("configmaps", labelSelector=f"mine=yes,{selector}")
    assert "".join(reply.names) == names


@pytest.mark.parametrize(
    "selector, message",
    [
        pytest.param(
            "a=b=c",
            "found '=', expected: ',' or 'end of string'",
            id="two values",
        ),
        pytest.param(
            "a in red", "unable to parse requirement: found 'red' expected: '('", id="no brackets"
        ),
        pytest.param(
            "-a=b",
            'unable to parse requirement: <nil>: Invalid value: "-a": name part must consist of '
            "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
            "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
            "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
            id="a key that is none",
        ),
    ],
)
async def test_a_label_selector_must_parse(server: Server, selector: str, message: str) -> None:
    reply = await server.get("configmaps", labelSelector=selector)
    assert reply.refusal == (400, "BadRequest", message)


@pytest.mark.parametrize(
    "selector, names",
    [
        pytest.param("metadata.name=b", "b", id="name"),
        pytest.param("metadata.name==b", "b", id="name, doubled"),
        pytest.param("metadata.name!=b", "acd", id="not this name"),
        pytest.param("metadata.name=b,metadata.name=c", "", id="two names"),
        pytest.param("metadata.name=zzz", "", id="no such name"),
    ],
)
async def test_fields_select(server: Server, selector: str, names: str) -> None:
    await fill(server)
    reply = await server.get("configmaps", labelSelector="mine", fieldSelector=selector)
    assert "".join(reply.names) == names


async def test_a_field_selects_the_namespace(server: Server) -> None:
    await fill(server)
    reply = await server.get(
        "/api/v1/configmaps",
        labelSelector="mine",
        fieldSelector=f"metadata.namespace={server.namespace}",
    )
    assert "".join(reply.names) == "abcd"


async def test_few_fields_can_be_selected_by(server: Server) -> None:
    reply = await server.get("configmaps", fieldSelector="data.colour=red")
    assert reply.refusal == (
        400,
        "BadRequest",
        '"data.colour" is not a known field selector: only "metadata.name", "metadata.namespace"',
    )


async def test_secrets_are_selected_by_type(server: Server) -> None:
    await server.create("secrets", secret("opaque"))
    await server.create("secrets", {**secret("other"), "type": "example.org/other"})
    reply = await server.get("secrets", fieldSelector="type=example.org/other")
    assert reply.names == ["other"]


async def test_pods_are_selected_by_phase_and_node(server: Server) -> None:
    await until(lambda: server.get("serviceaccounts/default"), lambda reply: reply.code == 200)
    for name in ("one", "two"):
        assert (await server.create("pods", pod(name))).code == 201
    await server.merge("pods/two/status", {"status": {"phase": "Running"}})
    assert (await server.get("pods", fieldSelector="status.phase=Running")).names == ["two"]
    assert (await server.get("pods", fieldSelector="status.phase!=Running")).names == ["one"]
    assert (await server.get("pods", fieldSelector="spec.nodeName=")).names == ["one", "two"]
    assert (await server.get("pods", fieldSelector="spec.nodeName=n1")).names == []


async def test_pods_that_have_ended_are_left_out_by_two_terms(server: Server) -> None:
    await until(lambda: server.get("serviceaccounts/default"), lambda reply: reply.code == 200)
    for name, phase in (("a", None), ("b", "Running"), ("c", "Succeeded"), ("d", "Failed")):
        assert (await server.create("pods", pod(name))).code == 201
        if phase is not None:
            await server.merge(f"pods/{name}/status", {"status": {"phase": phase}})
    reply = await server.get("pods", fieldSelector=LIVE.fields)
    assert reply.names == ["a", "b"]
    async with server.watch(
        "pods", resourceVersion=reply.version, fieldSelector=LIVE.fields
    ) as events:
        await server.merge("pods/b/status", {"status": {"phase": "Succeeded"}})
        event = await events.next()
    # To whoever has chosen so, a pod that ends is gone.
    assert (event["type"], event["object"]["metadata"]["name"]) == ("DELETED", "b")


async def test_a_list_across_namespaces_is_ordered_by_namespace(server: Server) -> None:
    other = f"a{server.namespace}"
    await server.create("namespaces", namespace(other))
    mark = {"test": server.namespace}
    await server.create("configmaps", config("one", labels=mark))
    await server.create(f"/api/v1/namespaces/{other}/configmaps", config("two", labels=mark))
    reply = await server.get("/api/v1/configmaps", labelSelector=f"test={server.namespace}")
    assert reply.names == ["two", "one"]


async def test_objects_of_an_unknown_namespace_are_none(server: Server) -> None:
    reply = await server.get("/api/v1/namespaces/nowhere/configmaps")
    assert reply.ok["items"] == []
