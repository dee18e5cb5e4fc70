"""Bodies as Kubernetes' own Go types encode them; the encoder here is a minimal one."""

import base64
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.embedded.fronts.messages import MESSAGES
from isthmus.embedded.fronts.protobuf import Unreadable, object_of
from isthmus.model.wire import JsonObject


def varint(value: int) -> bytes:
    out = b""
    while value >= 0x80:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def put(number: int, value: int | str | bytes) -> bytes:
    """One field."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value % (1 << 64))
    raw = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(raw)) + raw


def body(api_version: str, kind: str, *fields: bytes) -> bytes:
    raw = b"".join(fields)
    return b"k8s\x00" + put(1, put(1, api_version) + put(2, kind)) + put(2, raw) + put(3, "")


# Go writes fields that are not pointers even when they are empty.
METADATA = put(1, "web") + put(2, "") + put(3, "default") + put(7, 0) + put(8, b"")


@pytest.mark.parametrize(
    "sent, expected",
    [
        pytest.param(
            body("v1", "Namespace", put(1, METADATA), put(2, b""), put(3, put(1, ""))),
            {"apiVersion": "v1", "kind": "Namespace"}
            | {"metadata": {"name": "web", "namespace": "default"}},
            id="what is empty is left out",
        ),
        pytest.param(
            body(
                "v1",
                "Secret",
                put(1, put(1, "s") + put(11, put(1, "k") + put(2, "v"))),
                put(2, put(1, "a") + put(2, b"\xff\x00")),
                put(3, "Opaque"),
                put(5, 0),
            ),
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": "s", "labels": {"k": "v"}},
                "data": {"a": base64.b64encode(b"\xff\x00").decode()},
                "type": "Opaque",
                "immutable": False,
            },
            id="maps, bytes and a false that means something",
        ),
        pytest.param(
            body(
                "v1",
                "Service",
                put(
                    2,
                    put(1, put(3, 80) + put(4, put(1, 1) + put(2, 0) + put(3, "http")))
                    + put(1, put(3, 81) + put(4, put(1, 0) + put(2, 8080) + put(3, ""))),
                ),
            ),
            {
                "apiVersion": "v1",
                "kind": "Service",
                "spec": {
                    "ports": [
                        {"port": 80, "targetPort": "http"},
                        {"port": 81, "targetPort": 8080},
                    ]
                },
            },
            id="ports by name and by number",
        ),
        pytest.param(
            body("v1", "DeleteOptions", put(1, 0), put(2, put(1, "uid")), put(4, "Foreground")),
            {
                "apiVersion": "v1",
                "kind": "DeleteOptions",
                "gracePeriodSeconds": 0,
                "preconditions": {"uid": "uid"},
                "propagationPolicy": "Foreground",
            },
            id="delete options",
        ),
        pytest.param(
            body("authentication.k8s.io/v1", "TokenRequest", put(2, put(4, -5))),
            {
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "TokenRequest",
                "spec": {"expirationSeconds": -5},
            },
            id="a negative number",
        ),
    ],
)
def test_bodies(sent: bytes, expected: JsonObject) -> None:
    assert object_of(sent) == expected


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"{}", id="JSON"),
        pytest.param(body("v1", "Gizmo"), id="an unknown kind"),
        pytest.param(body("v1", "Namespace", put(9, "x")), id="an unknown field"),
        pytest.param(body("v1", "Namespace", put(1, 7)), id="a number for a message"),
        pytest.param(body("v1", "Namespace", put(1, put(1, b"\xff"))), id="not UTF-8"),
        pytest.param(
            body("v1", "Namespace", put(1, put(11, put(1, "a") + put(2, b"\xff")))),
            id="a label that is not UTF-8",
        ),
        pytest.param(body("v1", "Namespace", b"\x0a\x7f"), id="cut off"),
        pytest.param(body("v1", "Namespace", b"\xff" * 11), id="an endless number"),
    ],
)
def test_what_cannot_be_read_is_refused(sent: bytes) -> None:
    with pytest.raises(Unreadable):
        object_of(sent)


@given(
    name=st.sampled_from([name for name in MESSAGES if " " in name]),
    fields=st.lists(
        st.tuples(st.integers(0, 30), st.binary(max_size=20) | st.integers(0, 2**63)), max_size=6
    ),
)
def test_any_bytes_are_read_or_refused(name: str, fields: list[tuple[int, bytes | int]]) -> None:
    api_version, _, kind = name.partition(" ")
    with suppress(Unreadable):
        object_of(body(api_version, kind, *(put(number, value) for number, value in fields)))
