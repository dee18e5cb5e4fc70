"""What becomes of text and numbers at the edge of what JSON and YAML can say."""

import pytest

from isthmus.kube.transport import Request
from isthmus.model.wire import JsonObject
from tests.contract.objects import config, pod
from tests.contract.server import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Server

HALF = r"\ud800"  # the first half of a surrogate pair, escaped
SIGN = "\N{REPLACEMENT CHARACTER}"
YAML = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"


def patch(server: Server, kind: str, body: str) -> Request:
    return Request(
        method="PATCH",
        path=server.path("configmaps/settings"),
        query=(("fieldManager", "contract"),),
        headers={"Accept": "application/json", "Content-Type": kind},
        body=body.encode(),
    )


@pytest.mark.parametrize(
    "kind, body",
    [
        pytest.param(JSON_PATCH, f'[{{"op":"add","path":"/data/a","value":"{HALF}"}}]', id="JSON"),
        pytest.param(MERGE_PATCH, f'{{"data":{{"a":"{HALF}"}}}}', id="merge"),
        pytest.param(STRATEGIC_PATCH, f'{{"data":{{"a":"{HALF}"}}}}', id="strategic"),
    ],
)
async def test_half_a_character_in_a_patch_becomes_a_sign(
    server: Server, kind: str, body: str
) -> None:
    await server.create("configmaps", config(data={"x": "y"}))
    reply = await server.send(patch(server, kind, body))
    assert reply.ok["data"] == {"a": SIGN, "x": "y"}


@pytest.mark.parametrize(
    "data, stored",
    [
        pytest.param("{at: 1:30}", {"at": "1:30"}, id="no sexagesimal numbers"),
        pytest.param("{at: 1:30.5}", {"at": "1:30.5"}, id="nor such fractions"),
        pytest.param("{2: x, true: z}", {"2": "x", "true": "z"}, id="keys are text"),
        pytest.param("{at: 2001-01-01}", {"at": "2001-01-01"}, id="no dates"),
    ],
)
async def test_yaml_is_read_as_text_and_numbers(
    server: Server, data: str, stored: JsonObject
) -> None:
    reply = await server.send(patch(server, APPLY_PATCH, f"{YAML}data: {data}"))
    assert reply.ok["data"] == stored


@pytest.mark.parametrize(
    "selector, code",
    [
        pytest.param("n>6", 200, id="a number"),
        pytest.param(f"n>{2**63 - 1}", 200, id="the largest"),
        pytest.param(f"n>{2**63}", 400, id="beyond 64 bits"),
        pytest.param("n>" + "9" * 5000, 400, id="without end"),
        pytest.param("n>٣", 400, id="digits of another script"),
    ],
)
async def test_numbers_in_selectors_have_64_bits(server: Server, selector: str, code: int) -> None:
    await server.create("configmaps", config(labels={"n": "7"}))
    reply = await server.get("configmaps", labelSelector=selector)
    assert reply.code == code


async def test_an_index_without_end_is_no_index(server: Server) -> None:
    await server.create("configmaps", config(finalizers=["x.example/y"]))
    way = f"/metadata/finalizers/{'9' * 5000}"
    reply = await server.call(
        "PATCH", "configmaps/settings", [{"op": "remove", "path": way}], kind=JSON_PATCH
    )
    assert (reply.code, reply.body["reason"]) == (422, "Invalid")
    await server.merge("configmaps/settings", {"metadata": {"finalizers": None}})


@pytest.mark.parametrize("amount", ["1x", "٣"])
async def test_what_is_no_amount_is_refused(server: Server, amount: str) -> None:
    made = pod("a")
    made["spec"]["containers"][0]["resources"] = {"limits": {"cpu": amount}}
    assert (await server.create("pods", made)).code == 400
