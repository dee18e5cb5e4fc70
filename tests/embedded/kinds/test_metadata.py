"""What every kind demands of metadata."""

import pytest

from isthmus.model.wire import JsonObject
from tests.embedded.kinds.sent import (
    admitted,
    complaints,
    service,
)

LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)


@pytest.mark.parametrize(
    "metadata, expected",
    [
        pytest.param(
            {"name": "Ab"}, [("metadata.name", f'Invalid value: "Ab": {LABEL}')], id="case"
        ),
        pytest.param(
            {"name": "a.b"}, [("metadata.name", 'Invalid value: "a.b": must not contain dots')]
        ),
        pytest.param(
            {"name": ""},
            [("metadata.name", "Required value: name or generateName is required")],
            id="no name",
        ),
        pytest.param({"name": "1st"}, [], id="a Service may start with a digit"),
        pytest.param({"generateName": "x-"}, [], id="a prefix may end with a dash"),
        pytest.param(
            {"annotations": {"a": "x" * 300_000}},
            [("metadata.annotations", "Too long: may not be more than 262144 bytes")],
            id="too many annotations",
        ),
        pytest.param(
            {"finalizers": ["x"]},
            [
                (
                    "metadata.finalizers[0]",
                    'Invalid value: "x": name is neither a standard finalizer name nor is it '
                    "fully qualified",
                )
            ],
            id="finalizer",
        ),
        pytest.param(
            {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p"}]},
            [("metadata.ownerReferences.uid", 'Invalid value: "": must not be empty')],
            id="owner",
        ),
    ],
)
def test_metadata_is_judged(metadata: JsonObject, expected: list[tuple[str, str]]) -> None:
    assert complaints(service(metadata)) == expected


@pytest.mark.parametrize(
    "labels, fragment",
    [
        ({"a b": "c"}, "name part must consist of alphanumeric characters"),
        ({"a": "c d"}, "a valid label must be an empty string or consist of"),
        ({"/a": "c"}, "prefix part must be non-empty"),
        ({"a/b/c": "c"}, "a valid label key must consist of"),
        ({"a" * 64: "c"}, "name part must be no more than 63 bytes"),
        ({"a": "c" * 64}, "must be no more than 63 bytes"),
    ],
)
def test_labels_are_judged(labels: JsonObject, fragment: str) -> None:
    ((field, message),) = complaints(service({"labels": labels}))
    assert field == "metadata.labels"
    assert fragment in message


def test_no_finalizers_are_added_while_deleting() -> None:
    old = admitted(service({"finalizers": ["a.io/b"], "deletionTimestamp": "2026-01-01T00:00:00Z"}))
    sent = service({"finalizers": ["a.io/c"], "deletionTimestamp": "2026-01-01T00:00:00Z"})
    assert complaints(sent, old) == [
        (
            "metadata.finalizers",
            "Forbidden: no new finalizers can be added if the object is being deleted, found new "
            'finalizers []string{"a.io/c"}',
        )
    ]
