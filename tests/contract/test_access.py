"""Who is calling, and what they may do."""

import base64
import json
from datetime import datetime

import pytest

from isthmus.model.wire import JsonObject
from tests.contract.objects import account, pod, rbac, service
from tests.contract.server import MERGE_PATCH, Reply, Server
from tests.support.waiting import until

ISSUER = "https://kubernetes.default.svc.cluster.local"
UNAUTHORIZED = (401, "Unauthorized", "Unauthorized")


def request(**spec: object) -> JsonObject:
    return {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}


async def token(server: Server, name: str = "robot", **spec: object) -> str:
    reply = await server.create(f"serviceaccounts/{name}/token", request(**spec))
    return str(reply.ok["status"]["token"])


async def robot(server: Server) -> Server:
    """The server, as a service account without any rights sees it."""
    await server.create("serviceaccounts", account())
    return server.acting_as(await token(server))


async def review(server: Server, text: str, *audiences: str) -> JsonObject:
    spec = {"token": text, **({"audiences": list(audiences)} if audiences else {})}
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": spec}
    status: JsonObject = (await server.create("tokenreviews", body)).ok["status"]
    return status


def claims(text: str) -> JsonObject:
    part = text.split(".")[1]
    decoded: JsonObject = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return decoded


@pytest.mark.parametrize("text", [pytest.param("", id="no token"), "nonsense", "a.b.c"])
async def test_strangers_are_not_let_in(server: Server, text: str) -> None:
    stranger = server.acting_as(text)
    assert (await stranger.get("services")).refusal == UNAUTHORIZED
    assert (await stranger.create("services", service())).refusal == UNAUTHORIZED


@pytest.mark.parametrize("path", ["/version", "/livez", "/readyz", "/healthz"])
async def test_anyone_may_ask_how_the_server_is(server: Server, path: str) -> None:
    assert (await server.acting_as("").get(path)).code == 200


async def test_a_wrong_token_is_worse_than_none(server: Server) -> None:
    assert (await server.acting_as("nonsense").get("/version")).refusal == UNAUTHORIZED


async def test_a_token_is_made_for_an_account(server: Server) -> None:
    made = (await server.create("serviceaccounts", account())).ok
    reply = await server.create("serviceaccounts/robot/token", request())
    assert reply.code == 201
    assert reply.ok["kind"] == "TokenRequest"
    assert reply.ok["spec"]["audiences"] == [ISSUER]
    assert reply.ok["spec"]["expirationSeconds"] == 3600
    found = claims(reply.ok["status"]["token"])
    assert found["iss"] == ISSUER
    assert found["aud"] == [ISSUER]
    assert found["sub"] == f"system:serviceaccount:{server.namespace}:robot"
    assert found["exp"] - found["iat"] == 3600
    assert found["kubernetes.io"] == {
        "namespace": server.namespace,
        "serviceaccount": {"name": "robot", "uid": made["metadata"]["uid"]},
    }
    ends = datetime.fromisoformat(reply.ok["status"]["expirationTimestamp"])
    assert abs(ends.timestamp() - found["exp"]) <= 1


@pytest.mark.parametrize(
    "spec, code, message",
    [
        pytest.param(
            {"expirationSeconds": 60},
            422,
            'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid '
            "value: 60: may not specify a duration less than 10 minutes",
            id="too short",
        ),
        pytest.param(
            {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "none"}},
            404,
            'pods "none" not found',
            id="bound to nothing",
        ),
        pytest.param(
            {"boundObjectRef": {"kind": "Service", "apiVersion": "v1", "name": "web"}},
            400,
            "cannot bind token to object of type /v1, Kind=Service",
            id="bound to something else",
        ),
    ],
)
async def test_bad_token_requests(
    server: Server, spec: JsonObject, code: int, message: str
) -> None:
    await server.create("serviceaccounts", account())
    reply = await server.create("serviceaccounts/robot/token", request(**spec))
    assert (reply.code, reply.body["message"]) == (code, message)


async def test_a_token_needs_an_account(server: Server) -> None:
    reply = await server.create("serviceaccounts/nobody/token", request())
    assert reply.refusal == (404, "NotFound", 'serviceaccounts "nobody" not found')


async def test_a_review_tells_who_holds_a_token(server: Server) -> None:
    made = (await server.create("serviceaccounts", account())).ok
    status = await review(server, await token(server))
    assert status["authenticated"] is True
    assert status["audiences"] == [ISSUER]
    user = status["user"]
    assert user["username"] == f"system:serviceaccount:{server.namespace}:robot"
    assert user["uid"] == made["metadata"]["uid"]
    assert sorted(user["groups"]) == [
        "system:authenticated",
        "system:serviceaccounts",
        f"system:serviceaccounts:{server.namespace}",
    ]


async def test_a_token_counts_only_for_its_audience(server: Server) -> None:
    await server.create("serviceaccounts", account())
    text = await token(server, audiences=["isthmus"], expirationSeconds=600)
    assert (await review(server, text, "isthmus"))["audiences"] == ["isthmus"]
    assert (await review(server, text, "other", "isthmus"))["audiences"] == ["isthmus"]
    refused = await review(server, text)
    assert refused == {
        "user": {},
        "error": '[invalid bearer token, token audiences ["isthmus"] is invalid for the target '
        f'audiences ["{ISSUER}"]]',
    }
    assert (await server.acting_as(text).get("services")).refusal == UNAUTHORIZED


async def test_nonsense_is_nobody(server: Server) -> None:
    assert await review(server, "nonsense") == {"user": {}, "error": "invalid bearer token"}
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": ""}}
    reply = await server.create("tokenreviews", body)
    assert reply.refusal == (
        400,
        "BadRequest",
        "token is required for TokenReview in authentication",
    )


async def test_a_token_ends_with_its_account(server: Server) -> None:
    await server.create("serviceaccounts", account())
    text = await token(server)
    await server.delete("serviceaccounts/robot")

    async def allowed() -> bool:
        return bool((await review(server, text)).get("authenticated"))

    await until(allowed, lambda found: not found, within=30)
    await server.create("serviceaccounts", account())
    assert not await allowed()


async def test_a_token_ends_with_the_pod_it_is_bound_to(server: Server) -> None:
    await server.create("serviceaccounts", account())
    body = pod("bound")
    body["spec"]["serviceAccountName"] = "robot"
    made = (await server.create("pods", body)).ok
    reference = {"kind": "Pod", "apiVersion": "v1", "name": "bound"}
    text = await token(server, audiences=["isthmus"], boundObjectRef=reference)
    other = await token(server, audiences=["isthmus"], boundObjectRef=reference)
    assert claims(text)["kubernetes.io"]["pod"] == {
        "name": "bound",
        "uid": made["metadata"]["uid"],
    }
    user = (await review(server, text, "isthmus"))["user"]
    assert user["extra"]["authentication.kubernetes.io/pod-name"] == ["bound"]
    await server.call("DELETE", "pods/bound", gracePeriodSeconds=0)

    # A second token, because the real server remembers its answer to the first for a while.
    async def allowed() -> bool:
        return bool((await review(server, other, "isthmus")).get("authenticated"))

    await until(allowed, lambda found: not found, within=30)


async def test_a_token_is_bound_to_a_pod_of_its_own_account(server: Server) -> None:
    await server.create("serviceaccounts", account())
    await until(lambda: server.get("serviceaccounts/default"), lambda reply: reply.code == 200)
    await server.create("pods", pod("alien"))
    reference = {"kind": "Pod", "apiVersion": "v1", "name": "alien"}
    reply = await server.create("serviceaccounts/robot/token", request(boundObjectRef=reference))
    assert reply.refusal == (
        400,
        "BadRequest",
        'cannot bind token for serviceaccount "robot" to pod running with different '
        "serviceaccount name.",
    )


@pytest.mark.parametrize(
    "method, where, start, verb, resource",
    [
        pytest.param("GET", "services", "services", "list", "services", id="list"),
        pytest.param("GET", "services/web", 'services "web"', "get", "services", id="get"),
        pytest.param("POST", "services", "services", "create", "services", id="create"),
        pytest.param(
            "DELETE", "services", "services", "deletecollection", "services", id="delete all"
        ),
        pytest.param(
            "PATCH",
            "services/web/status",
            'services "web"',
            "patch",
            "services/status",
            id="patch the status",
        ),
    ],
)
async def test_nothing_is_allowed_that_is_not_granted(
    server: Server, method: str, where: str, start: str, verb: str, resource: str
) -> None:
    nobody = await robot(server)
    body = service() if method in ("POST", "PATCH") else None
    reply = await nobody.call(method, where, body, kind=MERGE_PATCH)
    user = f"system:serviceaccount:{server.namespace}:robot"
    assert reply.refusal == (
        403,
        "Forbidden",
        f'{start} is forbidden: User "{user}" cannot {verb} resource "{resource}" in API group '
        f'"" in the namespace "{server.namespace}"',
    )


async def test_refusals_name_group_and_scope(server: Server) -> None:
    nobody = await robot(server)
    user = f"system:serviceaccount:{server.namespace}:robot"
    assert (await nobody.get("/apis/discovery.k8s.io/v1/endpointslices")).refusal == (
        403,
        "Forbidden",
        f'endpointslices.discovery.k8s.io is forbidden: User "{user}" cannot list resource '
        '"endpointslices" in API group "discovery.k8s.io" at the cluster scope',
    )
    assert (await nobody.get("/metrics")).refusal == (
        403,
        "Forbidden",
        f'forbidden: User "{user}" cannot get path "/metrics"',
    )


async def grant(server: Server, **rule: list[str]) -> None:
    rule = {"apiGroups": [""], **rule}
    subject = {"kind": "ServiceAccount", "name": "robot", "namespace": server.namespace}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "some"}
    await server.create("roles", rbac("Role", "some", rules=[rule]))
    await server.create(
        "rolebindings", rbac("RoleBinding", "some", roleRef=reference, subjects=[subject])
    )


async def test_a_role_allows_what_it_names(server: Server) -> None:
    nobody = await robot(server)
    await grant(server, resources=["services"], verbs=["get", "list"])
    await until(lambda: nobody.get("services"), lambda reply: reply.code == 200, within=20)
    assert (await nobody.get("services/web")).code == 404
    assert (await nobody.create("services", service())).code == 403
    assert (await nobody.get("configmaps")).code == 403
    assert (await nobody.get("/api/v1/services")).code == 403


async def test_a_role_may_name_single_objects(server: Server) -> None:
    nobody = await robot(server)
    await grant(server, resources=["configmaps"], verbs=["get"], resourceNames=["mine"])
    await until(lambda: nobody.get("configmaps/mine"), lambda reply: reply.code == 404, within=20)
    assert (await nobody.get("configmaps/other")).code == 403


async def test_a_list_of_one_name_is_allowed_by_that_name(server: Server) -> None:
    nobody = await robot(server)
    await grant(server, resources=["configmaps"], verbs=["list"], resourceNames=["mine"])

    async def listed(fields: str) -> Reply:
        return await nobody.get("configmaps", fieldSelector=fields)

    await until(lambda: listed("metadata.name=mine"), lambda reply: reply.code == 200, within=20)
    user = f"system:serviceaccount:{server.namespace}:robot"
    assert (await listed("metadata.name=other")).refusal == (
        403,
        "Forbidden",
        f'configmaps "other" is forbidden: User "{user}" cannot list resource "configmaps" in '
        f'API group "" in the namespace "{server.namespace}"',
    )
    assert (await listed("metadata.name!=mine")).code == 403
    assert (await nobody.get("configmaps")).code == 403


async def asked(server: Server, **attributes: str) -> Reply:
    attributes = {"namespace": server.namespace, **attributes}
    spec = {"resourceAttributes": attributes}
    kind = "SelfSubjectAccessReview"
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}
    return await server.create("selfsubjectaccessreviews", body)


async def test_anyone_may_ask_what_they_may_do(server: Server) -> None:
    assert (await asked(server, verb="list", resource="services")).ok["status"]["allowed"] is True
    nobody = await robot(server)
    reply = await asked(nobody, verb="list", resource="services")
    assert reply.code == 201
    assert reply.ok["status"] == {"allowed": False}
    await grant(server, resources=["services"], verbs=["list"])
    allowed = await until(
        lambda: asked(nobody, verb="list", resource="services"),
        lambda reply: bool(reply.ok["status"]["allowed"]),
        within=20,
    )
    assert allowed.ok["status"]["reason"] == (
        f'RBAC: allowed by RoleBinding "some/{server.namespace}" of Role "some" to '
        f'ServiceAccount "robot/{server.namespace}"'
    )


async def test_the_administrator_may_ask_for_others(server: Server) -> None:
    await server.create("serviceaccounts", account())
    spec = {
        "user": f"system:serviceaccount:{server.namespace}:robot",
        "resourceAttributes": {
            "verb": "list",
            "resource": "services",
            "namespace": server.namespace,
        },
    }
    kind = "SubjectAccessReview"
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}
    assert (await server.create("subjectaccessreviews", body)).ok["status"] == {"allowed": False}


async def test_anyone_may_ask_who_they_are(server: Server) -> None:
    nobody = await robot(server)
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    reply = await nobody.create("selfsubjectreviews", body)
    user = f"system:serviceaccount:{server.namespace}:robot"
    assert reply.ok["status"]["userInfo"]["username"] == user
    groups = (await server.create("selfsubjectreviews", body)).ok["status"]["userInfo"]["groups"]
    assert groups == ["system:masters", "system:authenticated"]


async def test_a_binding_keeps_its_role(server: Server) -> None:
    await grant(server, resources=["services"], verbs=["list"])
    reply = await server.merge("rolebindings/some", {"roleRef": {"name": "other"}})
    assert reply.code == 422
    assert "cannot change roleRef" in reply.body["message"]
