"""What names, labels and annotations may look like."""

import pytest

from isthmus.model.wire import JsonObject
from tests.contract.objects import config, namespace, service
from tests.contract.server import Server

LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    r"for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
KEY = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
    "or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


@pytest.mark.parametrize(
    "where, made, name, message",
    [
        pytest.param("services", service, "Web", LABEL, id="service, capital"),
        pytest.param("services", service, "web_1", LABEL, id="service, underscore"),
        pytest.param("services", service, "-web", LABEL, id="service, dash in front"),
        pytest.param("services", service, "web-", LABEL, id="service, dash at the end"),
        pytest.param("services", service, "a.b", "must not contain dots", id="service, dot"),
        pytest.param(
            "services", service, "a" * 64, "must be no more than 63 characters", id="service, long"
        ),
        pytest.param("configmaps", config, "A", SUBDOMAIN, id="config, capital"),
        pytest.param("configmaps", config, ".a", SUBDOMAIN, id="config, dot in front"),
        pytest.param("configmaps", config, "a..b", SUBDOMAIN, id="config, two dots"),
        pytest.param("configmaps", config, "a_b", SUBDOMAIN, id="config, underscore"),
        pytest.param(
            "configmaps",
            config,
            "a" * 254,
            "must be no more than 253 characters",
            id="config, long",
        ),
        pytest.param("namespaces", namespace, "a.b", "must not contain dots", id="namespace, dot"),
    ],
)
async def test_bad_names(
    server: Server, where: str, made: "type[object]", name: str, message: str
) -> None:
    body: JsonObject = made(name)  # type: ignore[call-arg, assignment]  # a builder, see above
    reply = await server.create(where, body)
    text = f'Invalid value: "{name}": {message}'
    assert reply.causes == [("FieldValueInvalid", "metadata.name", text)]
    assert reply.refusal == (
        422,
        "Invalid",
        f'{body["kind"]} "{name}" is invalid: metadata.name: {text}',
    )


@pytest.mark.parametrize("name", ["1web", "a", "0", "a" * 63, "a-b-c"])
async def test_good_names_of_services(server: Server, name: str) -> None:
    assert (await server.create("services", service(name))).code == 201


@pytest.mark.parametrize(
    "metadata, field, message",
    [
        pytest.param(
            {"labels": {"a b": "c"}}, "labels", f'Invalid value: "a b": {KEY}', id="label key"
        ),
        pytest.param(
            {"labels": {"a": "b c"}}, "labels", f'Invalid value: "b c": {VALUE}', id="label value"
        ),
        pytest.param(
            {"labels": {"a": "x" * 64}},
            "labels",
            f'Invalid value: "{"x" * 64}": must be no more than 63 bytes',
            id="long label",
        ),
        pytest.param(
            {"annotations": {"a b": "c"}},
            "annotations",
            f'Invalid value: "a b": {KEY}',
            id="annotation key",
        ),
        pytest.param(
            {"annotations": {"a": "x" * 256 * 1024}},
            "annotations",
            "Too long: may not be more than 262144 bytes",
            id="long annotations",
        ),
    ],
)
async def test_bad_labels_and_annotations(
    server: Server, metadata: JsonObject, field: str, message: str
) -> None:
    reply = await server.create("configmaps", config(**metadata))
    assert reply.code == 422
    assert [cause[1:] for cause in reply.causes] == [(f"metadata.{field}", message)]
