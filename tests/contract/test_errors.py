"""Requests that make no sense, and the words with which the server says so."""

import pytest

from isthmus.kube.transport import Request
from isthmus.model.wire import JsonObject
from tests.contract.objects import config, deployment
from tests.contract.server import JSON, MERGE_PATCH, Server

UNRECOGNIZED = "the object provided is unrecognized (must be of type ConfigMap): "
NO_RESOURCE = "the server could not find the requested resource"
NO_METHOD = "the server does not allow this method on the requested resource"


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("/api/v1/things", id="kind"),
        pytest.param("/apis/apps/v2/deployments", id="version"),
        pytest.param("/api/v1/namespaces/default/services/web/nothing", id="subresource"),
        pytest.param("/api/v1/namespaces/default/things/one", id="object"),
    ],
)
async def test_unknown_resources(server: Server, path: str) -> None:
    reply = await server.get(path)
    assert reply.refusal == (404, "NotFound", NO_RESOURCE)
    assert reply.body["details"] == {}


@pytest.mark.parametrize("path", ["/nothing", "/apis/nothing.example.org/v1/things"])
async def test_unknown_paths(server: Server, path: str) -> None:
    reply = await server.get(path)
    assert reply.code == 404
    assert reply.headers["content-type"].startswith("text/plain")
    assert reply.raw == b"404 page not found\n"


@pytest.mark.parametrize(
    "method, where",
    [
        pytest.param("POST", "configmaps/settings", id="create an object at its own path"),
        pytest.param("PUT", "configmaps", id="replace a collection"),
        pytest.param("PATCH", "configmaps", id="patch a collection"),
        pytest.param("GET", "tokenreviews", id="read what can only be asked"),
        pytest.param("GET", "serviceaccounts/default/token", id="read a token"),
        pytest.param("DELETE", "services/web/status", id="delete a status"),
    ],
)
async def test_methods_that_a_resource_does_not_have(
    server: Server, method: str, where: str
) -> None:
    body = None if method in ("GET", "DELETE") else config()
    kind = MERGE_PATCH if method == "PATCH" else JSON
    reply = await server.call(method, where, body, kind=kind)
    assert reply.refusal == (405, "MethodNotAllowed", NO_METHOD)


@pytest.mark.parametrize(
    "body, message",
    [
        pytest.param(
            b'{"kind": ',
            "couldn't get version/kind; json parse error: unexpected end of JSON input",
            id="cut off",
        ),
        pytest.param(
            b"",
            "couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)",
            id="empty",
        ),
        pytest.param(
            b"hello", "couldn't get version/kind; json parse error: invalid character", id="text"
        ),
        pytest.param(
            b"[]",
            "couldn't get version/kind; json parse error: json: cannot unmarshal array",
            id="list",
        ),
    ],
)
async def test_bodies_that_are_no_object(server: Server, body: bytes, message: str) -> None:
    reply = await server.send(
        Request(
            method="POST",
            path=server.path("configmaps"),
            headers={"Content-Type": JSON, "Accept": JSON},
            body=body,
        )
    )
    code, reason, text = reply.refusal
    assert (code, reason) == (400, "BadRequest")
    assert text.startswith(UNRECOGNIZED + message)


@pytest.mark.parametrize(
    "change, message",
    [
        pytest.param(
            {"kind": "Deployment"},
            'Deployment in version "v1" cannot be handled as a ConfigMap: no kind "Deployment" is '
            'registered for version "v1" in scheme',
            id="unknown kind in this version",
        ),
        pytest.param(
            {"kind": "Namespace"},
            'Namespace in version "v1" cannot be handled as a ConfigMap',
            id="another kind",
        ),
        pytest.param(
            {"apiVersion": "v2"},
            'ConfigMap in version "v2" cannot be handled as a ConfigMap: no kind "ConfigMap" is '
            'registered for version "v2" in scheme',
            id="another version",
        ),
        pytest.param(
            {"metadata": {"name": "settings", "namespace": "other"}},
            "the namespace of the provided object does not match the namespace sent on the request",
            id="another namespace",
        ),
    ],
)
async def test_bodies_of_something_else(server: Server, change: JsonObject, message: str) -> None:
    reply = await server.create("configmaps", {**config(), **change})
    code, reason, text = reply.refusal
    assert (code, reason) == (400, "BadRequest")
    assert text.startswith(message)


def _cannot(kind: str, what: str) -> str:
    return f'{kind} in version "v1" cannot be handled as a {kind}: json: cannot unmarshal {what}'


@pytest.mark.parametrize(
    "where, body, message",
    [
        pytest.param(
            "configmaps",
            {"kind": 5},
            f"{UNRECOGNIZED}couldn't get version/kind; json parse error: json: cannot unmarshal "
            'number into Go struct field .kind of type string ({"kind": 5})',
            id="a kind that is no text",
        ),
        pytest.param(
            "configmaps",
            {"apiVersion": {}},
            f"{UNRECOGNIZED}couldn't get version/kind; json parse error: json: cannot unmarshal "
            'object into Go struct field .apiVersion of type string ({"apiVersion": {}})',
            id="a version that is no text",
        ),
        pytest.param(
            "configmaps",
            {"metadata": [1]},
            _cannot(
                "ConfigMap", "array into Go struct field ConfigMap.metadata of type v1.ObjectMeta"
            ),
            id="metadata that is a list",
        ),
        pytest.param(
            "configmaps",
            {"metadata": {"generateName": 5}},
            _cannot(
                "ConfigMap",
                "number into Go struct field ObjectMeta.metadata.generateName of type string",
            ),
            id="a prefix that is no text",
        ),
        pytest.param(
            "serviceaccounts/default/token",
            {"spec": {"expirationSeconds": "soon"}},
            _cannot(
                "TokenRequest",
                "string into Go struct field TokenRequestSpec.spec.expirationSeconds of type int64",
            ),
            id="a lifetime that is no number",
        ),
        pytest.param(
            "tokenreviews",
            {"spec": {"token": ["x"]}},
            _cannot(
                "TokenReview",
                "array into Go struct field TokenReviewSpec.spec.token of type string",
            ),
            id="a token that is a list",
        ),
        pytest.param(
            "selfsubjectaccessreviews",
            {"spec": {"resourceAttributes": True}},
            _cannot(
                "SelfSubjectAccessReview",
                "bool into Go struct field SelfSubjectAccessReviewSpec.spec.resourceAttributes of "
                "type v1.ResourceAttributes",
            ),
            id="attributes that are no object",
        ),
    ],
)
async def test_bodies_of_another_shape(
    server: Server, where: str, body: JsonObject, message: str
) -> None:
    assert (await server.create(where, body)).refusal == (400, "BadRequest", message)


async def test_a_scale_of_another_shape(server: Server) -> None:
    await server.create("deployments", deployment())
    scale = {"metadata": {"name": "front"}, "spec": {"replicas": "two"}}
    assert (await server.replace("deployments/front/scale", scale)).refusal == (
        400,
        "BadRequest",
        _cannot("Scale", "string into Go struct field ScaleSpec.spec.replicas of type int32"),
    )


@pytest.mark.parametrize(
    "patch, place",
    [
        pytest.param({"metadata": 5}, "/", id="metadata"),
        pytest.param({"data": [1]}, "/settings", id="data"),
        pytest.param({"metadata": {"name": {}}}, "/", id="name"),
    ],
)
async def test_an_applied_object_of_another_shape(
    server: Server, patch: JsonObject, place: str
) -> None:
    reply = await server.apply("configmaps/settings", {**config(), **patch})
    code, _, message = reply.refusal
    assert code == 500
    text = f"failed to create typed patch object ({place}; /v1, Kind=ConfigMap): "
    assert message.startswith(text)


async def test_an_applied_object_names_itself(server: Server) -> None:
    reply = await server.apply("configmaps/settings", {**config(), "metadata": {}})
    assert reply.refusal == (
        400,
        "BadRequest",
        "the name of the object (settings based on URL) was undeterminable: name must be provided",
    )


async def test_a_body_may_leave_out_what_the_path_says(server: Server) -> None:
    reply = await server.create("configmaps", {"metadata": {"name": "bare"}, "data": {}})
    assert reply.code == 201
    assert (reply.ok["kind"], reply.ok["apiVersion"]) == ("ConfigMap", "v1")


async def test_a_name_must_be_that_of_the_path(server: Server) -> None:
    await server.create("configmaps", config())
    reply = await server.replace("configmaps/settings", config("other"))
    assert reply.refusal == (
        400,
        "BadRequest",
        "the name of the object (other) does not match the name on the URL (settings)",
    )


async def test_a_body_has_a_largest_size(server: Server) -> None:
    huge = config(data={"a": "x" * 3 * 1024 * 1024})
    reply = await server.create("configmaps", huge)
    assert reply.refusal == (
        413,
        "RequestEntityTooLarge",
        "Request entity too large: limit is 3145728",
    )


async def test_data_has_a_largest_size(server: Server) -> None:
    reply = await server.create("configmaps", config(data={"a": "x" * (1024 * 1024 + 1)}))
    assert reply.refusal == (
        422,
        "Invalid",
        'ConfigMap "settings" is invalid: []: Too long: may not be more than 1048576 bytes',
    )


async def test_other_formats_of_a_body_are_not_understood(server: Server) -> None:
    reply = await server.call("POST", "configmaps", config(), kind="text/plain")
    assert reply.refusal == (
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json, application/yaml, application/vnd.kubernetes.protobuf",
    )


async def test_yaml_is_understood(server: Server) -> None:
    text = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {colour: red}\n"
    reply = await server.send(
        Request(
            method="POST",
            path=server.path("configmaps"),
            headers={"Content-Type": "application/yaml", "Accept": JSON},
            body=text,
        )
    )
    assert reply.ok["data"] == {"colour": "red"}


async def test_other_formats_of_an_answer_are_not_spoken(server: Server) -> None:
    request = Request(method="GET", path=server.path("configmaps"), headers={"Accept": "text/html"})
    reply = await server.send(request)
    assert reply.code == 406
    assert reply.body["reason"] == "NotAcceptable"


@pytest.mark.parametrize(
    "query, why",
    [
        pytest.param({"limit": "many"}, "invalid syntax", id="limit"),
        pytest.param({"timeoutSeconds": "long"}, "invalid syntax", id="timeout"),
        pytest.param({"limit": "9" * 30}, "value out of range", id="too large a limit"),
    ],
)
async def test_numbers_must_be_numbers(server: Server, query: dict[str, str], why: str) -> None:
    reply = await server.get("configmaps", **query)
    (value,) = query.values()
    assert reply.refusal == (400, "BadRequest", f'strconv.ParseInt: parsing "{value}": {why}')
