"""Numbers of millions of digits and halves of characters are a client's mistakes, not ours."""

import copy
import json

import pytest

from isthmus.kube.transport import Request
from isthmus.model.wire import Json, JsonObject
from tests.contract.gadgets import definition, gadget
from tests.contract.objects import pod
from tests.support.embedded import cluster

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GADGETS = "/apis/contract.example.org/v1/namespaces/default/gadgets"
PODS = "/api/v1/namespaces/default/pods"
DIGITS = "9" * 2_000_000  # a body may have three million bytes
PATCHES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}


async def answered(*requests: Request) -> tuple[int, Json]:
    """The answer to the last of them."""
    transport, status, raw = cluster().transport(), 0, b""
    for request in requests:
        async with transport.send(request) as response:
            raw = b"".join([chunk async for chunk in response.chunks()])
            status = response.status
    return status, json.loads(raw)


def created(path: str, obj: JsonObject) -> Request:
    return Request(method="POST", path=path, body=json.dumps(obj).encode())


def patched(kind: str, body: str, path: str = f"{CONFIG_MAPS}/a") -> Request:
    return Request(
        method="PATCH",
        path=path,
        headers={"content-type": PATCHES[kind]},
        query=(("fieldManager", "me"),),
        body=body.encode(),
    )


CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
PLAIN = created(
    CONFIG_MAPS,
    {"metadata": {"name": "a", "labels": {"n": "7"}, "finalizers": ["x/y"]}, "data": {"x": "y"}},
)


@pytest.mark.parametrize(
    "request_, code",
    [
        pytest.param(
            Request(method="GET", path=CONFIG_MAPS, query=(("labelSelector", f"n>{DIGITS}"),)),
            400,
            id="label selector",
        ),
        pytest.param(
            patched("json", f'[{{"op":"remove","path":"/metadata/finalizers/{DIGITS}"}}]'),
            422,
            id="index of a JSON patch",
        ),
        pytest.param(
            patched("json", f'[{{"op":"remove","path":"/x/{DIGITS[:5000]}"}}]'),
            422,
            id="index into nothing",
        ),
        pytest.param(patched("json", DIGITS), 400, id="JSON patch"),
        pytest.param(patched("merge", f'{{"data":{DIGITS}}}'), 400, id="merge patch"),
        pytest.param(patched("strategic", f'{{"data":{DIGITS}}}'), 400, id="strategic patch"),
        pytest.param(patched("apply", f"{CONFIG}data: {{y: {DIGITS}}}"), 400, id="apply"),
        pytest.param(patched("apply", f"{CONFIG}data: {{y: 0x{DIGITS}}}"), 400, id="hexadecimal"),
        pytest.param(created(CONFIG_MAPS, {"data": 10**4000}), 400, id="create"),
    ],
)
async def test_numbers_without_end_are_refused(request_: Request, code: int) -> None:
    found = await answered(PLAIN, request_)
    assert (found[0], found[1]["kind"]) == (code, "Status")


def limited(amount: str) -> JsonObject:
    made = pod("a")
    made["spec"]["containers"][0]["resources"] = {"limits": {"cpu": amount}}
    return made


@pytest.mark.parametrize(
    "amount",
    [
        pytest.param(DIGITS[:1_000_000], id="digits"),
        pytest.param(f"1e{DIGITS[:5000]}", id="exponent"),
        pytest.param(f"0.{DIGITS[:5000]}", id="decimals"),
        pytest.param(f"{DIGITS[:5000]}Ei", id="with a unit"),
    ],
)
async def test_quantities_without_end_are_refused(amount: str) -> None:
    status, body = await answered(created(PODS, limited(amount)))
    assert (status, body["kind"]) == (400, "Status")


HALF = r"\ud800"


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(patched("json", f'[{{"op":"add","path":"/{HALF}","value":1}}]'), id="path"),
        pytest.param(patched("json", f'[{{"op":"{HALF}","path":"/data"}}]'), id="operation"),
        pytest.param(patched("json", f'[{{"op":"test","path":"/data/{HALF}"}}]'), id="test"),
        pytest.param(
            patched("json", f'[{{"op":"copy","from":"/{HALF}","path":"/{HALF}"}}]'), id="copy"
        ),
        pytest.param(patched("merge", f'{{"{HALF}":{{"{HALF}":[]}}}}'), id="name of a field"),
        pytest.param(
            patched("strategic", f'{{"metadata":{{"labels":{{"{HALF}":"x"}}}}}}'), id="label"
        ),
        pytest.param(patched("apply", f'{CONFIG}data: {{y: "{HALF}"}}'), id="apply"),
        pytest.param(
            Request(method="POST", path=CONFIG_MAPS, body=f'{{"data":{{"x":"{HALF}"}}}}'.encode()),
            id="create",
        ),
    ],
)
async def test_half_a_character_anywhere_gets_an_answer(request_: Request) -> None:
    status, body = await answered(PLAIN, request_)
    assert status < 500, body


async def test_a_text_of_colons_is_not_computed() -> None:
    text = "1" + ":1" * 300_000  # in YAML 1.1 a number to base 60
    status, body = await answered(patched("apply", f"{CONFIG}data: {{at: {text}}}"))
    assert (status, body["data"]) == (201, {"at": text})


async def test_a_pattern_that_goes_back_and_forth_does_not_stop_the_cluster() -> None:
    made = copy.deepcopy(definition())
    rules = made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    rules["properties"]["short"] = {"type": "string", "pattern": "^(a+)+$"}
    sent = gadget("a")
    sent["spec"]["short"] = "a" * 100_000 + "!"
    status, body = await answered(created(DEFINITIONS, made), created(GADGETS, sent))
    assert (status, body["reason"]) == (422, "Invalid")
