"""The request path: from a request to an answer, as kube-apiserver goes it.

Authentication, authorization, discovery and routing happen here; what a verb does is in
:mod:`listing`, :mod:`watching`, :mod:`writing` and :mod:`deleting`. Nothing waits for anything
but the next event of a watch, and the pod that a request is passed on to (:mod:`proxying`), so
that a write and all its consequences are one step.
"""

from collections.abc import Callable, Mapping
from ipaddress import IPv4Network

from isthmus.embedded.access import reviews
from isthmus.embedded.access.deciding import Access
from isthmus.embedded.access.principals import Attributes, User
from isthmus.embedded.api import (
    deleting,
    discovery,
    executing,
    listing,
    proxying,
    scaling,
    selectors,
    watching,
    writing,
)
from isthmus.embedded.api.answers import Answer, Form, answered, refused, success
from isthmus.embedded.api.calls import BODY_LIMIT, Call, check_accepted, object_of
from isthmus.embedded.api.executing import Execution
from isthmus.embedded.api.proxying import Destination
from isthmus.embedded.api.routing import Route, route
from isthmus.embedded.api.writing import Written
from isthmus.embedded.kinds import admission, causes
from isthmus.embedded.kinds.refusals import bad_request, no_such_resource, not_allowed
from isthmus.embedded.state.plane import Plane
from isthmus.embedded.status import Refusal
from isthmus.embedded.tables import table
from isthmus.kube.transport import Request

_VERBS = {"GET": "get", "PUT": "update", "PATCH": "patch"}


class Api:
    """Serves one cluster's control plane."""

    def __init__(
        self, plane: Plane, access: Access, settle: Callable[[Plane], None], pods: IPv4Network
    ) -> None:
        """``settle`` draws the consequences of what a request has written; ``pods`` are the
        addresses that requests may be passed on to."""
        self._plane = plane
        self._access = access
        self._settle = settle
        self._pods = pods

    async def handle(self, request: Request, as_of: int | None = None) -> Answer:
        """Answer ``request``; reads show nothing later than revision ``as_of``, if given."""
        try:
            found = self._serve(request, as_of)
            return await proxying.fetched(found) if isinstance(found, Destination) else found
        except Refusal as refusal:
            return refused(refusal)
        except RecursionError:  # Only a body can be that deep, and nothing of it is stored yet.
            return refused(bad_request("the object is nested too deeply"))

    def execution(self, request: Request) -> Execution:
        """What a request for ``exec`` is about; raises ``Refusal`` if it may not be."""
        call = self._call(request, None)
        if not isinstance(call, Call) or call.route.subresource != "exec":
            raise no_such_resource()
        return executing.execution(self._plane, call, request.query)

    def _serve(self, request: Request, as_of: int | None) -> Answer | Destination:
        call = self._call(request, as_of)
        if isinstance(call, Answer):
            return call
        if call.route.subresource == "exec":
            raise bad_request("Upgrade request required")
        if call.route.subresource == "proxy":
            return proxying.destination(self._plane, call, self._pods)
        call.check_options()
        check_accepted(call.headers.get("accept", ""))
        answer = self._do(call)
        self._settle(self._plane)
        return answer

    def _call(self, request: Request, as_of: int | None) -> Call | Answer:
        """What a request asks for, if whoever sent it may; or a page that is not an object."""
        headers = {name.lower(): value for name, value in request.headers.items()}
        user = self._access.authenticate(headers, request.path)
        if len(request.body) > BODY_LIMIT:
            limit = f"limit is {BODY_LIMIT}"
            raise Refusal(413, "RequestEntityTooLarge", f"Request entity too large: {limit}")
        found = route(request.path, self._plane.registry)
        if found is None:
            return self._page(request, headers, user)
        query = dict(request.query)
        call = Call(
            route=found,
            verb=_verb(request.method, found, query),
            user=user,
            registry=self._plane.registry,
            query=query,
            headers=headers,
            body=request.body,
            now=self._plane.wall(),
            as_of=as_of,
        )
        self._access.authorize(user, _attributes(call))
        return call

    def _page(self, request: Request, headers: Mapping[str, str], user: User) -> Answer:
        """What is not an object: discovery, health, version."""
        verb = request.method.lower()
        self._access.authorize(user, Attributes(verb=verb, path=request.path))
        if request.method == "GET":
            kinds = self._plane.registry.kinds()
            page = discovery.answer(request.path, headers.get("accept", ""), kinds)
            if page is not None:
                return Answer(
                    status=200, headers={"content-type": page.content_type}, body=page.body
                )
        if self._group_served(request.path):
            raise no_such_resource()
        text = {"content-type": "text/plain; charset=utf-8"}
        return Answer(status=404, headers=text, body=b"404 page not found\n")

    def _group_served(self, path: str) -> bool:
        """Whether a group's own code answers for ``path``; outside, nobody speaks Status."""
        match path.strip("/").split("/"):
            case ["api", *_]:
                return True
            case ["apis", group, *_]:
                return any(k.group == group for k in self._plane.registry.builtin())
        return False

    def _do(self, call: Call) -> Answer:
        form = self._form(call)
        if call.kind in reviews.REVIEWS:
            return self._review(call)
        match call.verb:
            case "get":
                record = listing.get(self._plane, call)
                if call.route.subresource == "scale":
                    return answered(200, scaling.scale_of(record.object))
                return answered(200, form.encoded(record))
            case "list":
                return answered(200, listing.page(self._plane, call, form))
            case "watch":
                watched = watching.watch(self._plane, call, form)
                return Answer(
                    status=200,
                    headers={"content-type": "application/json"},
                    stream=watching.stream(self._plane, watched),
                )
            case "create" if call.route.subresource == "token":
                return self._token(call)
            case "create":
                return self._written(call, form, writing.create(self._plane, call))
            case "update":
                return self._written(call, form, writing.update(self._plane, call))
            case "patch":
                return self._written(call, form, writing.change(self._plane, call))
            case "delete":
                return self._delete(call, form)
            case _:
                return self._delete_all(call, form)

    @staticmethod
    def _written(call: Call, form: Form, written: Written) -> Answer:
        said = [f"299 - {causes.shown(warning)}" for warning in written.warnings]
        headers = {"warning": ", ".join(said)} if said else {}
        scale = call.route.subresource == "scale"
        shown = written.object if scale else form.shown(written.object)
        return answered(201 if written.created else 200, shown, headers)

    def _form(self, call: Call) -> Form:
        accept = call.headers.get("accept", "")
        return Form(
            kind=call.kind,
            custom=self._plane.registry.custom(call.kind),
            table=table.wanted(accept),
            partial="as=PartialObjectMetadata" in accept,
            include=call.query.get("includeObject", "Metadata"),
            now=call.now,
        )

    def _review(self, call: Call) -> Answer:
        if call.verb != "create":
            raise not_allowed()
        asked = admission.decoded(call.kind, object_of(call))
        return answered(201, reviews.review(self._access, call.user, call.kind, asked))

    def _token(self, call: Call) -> Answer:
        namespace, name = call.route.namespace, call.route.name
        kind = reviews.TOKEN_REQUEST
        body = admission.decoded(kind, object_of(call, kind))
        return answered(201, self._access.tokens.request(namespace, name, body))

    def _delete(self, call: Call, form: Form) -> Answer:
        wanted = deleting.options(call)
        done = deleting.delete(self._plane, call.kind, call.route.key, wanted)
        if done.gone and call.route.resource not in deleting.RETURNED:
            uid = done.object["metadata"]["uid"]
            return answered(200, success(call.kind, call.route.name, uid))
        return answered(200, form.shown(done.object))

    def _delete_all(self, call: Call, form: Form) -> Answer:
        wanted = deleting.options(call)
        chosen = selectors.selection(
            call.kind, call.query.get("labelSelector", ""), call.query.get("fieldSelector", "")
        )
        found = [
            record
            for record in self._plane.store.scan(call.route.resource, call.route.namespace)
            if chosen is None or chosen(record.object)
        ]
        for record in found:
            deleting.delete(self._plane, call.kind, record.key, wanted)
        metadata = {"resourceVersion": str(self._plane.store.revision)}
        return answered(200, form.listed(found, metadata))


def _verb(method: str, found: Route, query: Mapping[str, str]) -> str:
    watches = query.get("watch", "").lower() in ("true", "1")
    match method, found.subresource if found.name else None:
        case "GET", None:
            return "watch" if watches else "list"
        case "POST", None:
            return "create"
        case "DELETE", None:
            return "deletecollection"
        case "GET", "":
            return "watch" if watches else "get"
        case "DELETE", "":
            return "delete"
        case (("GET" | "PUT" | "PATCH"), ("" | "status" | "scale")):
            return _VERBS[method]
        case "GET", ("proxy" | "exec"):
            return "get"
        case "POST", "token":
            return "create"
        case "PUT", "finalize":
            return "update"
    raise not_allowed()


def _attributes(call: Call) -> Attributes:
    found = call.route
    # The real server lets no namespace's name slip past rules about that namespace.
    namespace = found.name if found.resource == "/namespaces" else found.namespace
    # Whoever may read an object of one name may list and watch objects of that name.
    name = found.name or selectors.only_name(call.query.get("fieldSelector", ""))
    return Attributes(
        verb=call.verb,
        group=found.kind.group,
        resource=found.kind.plural,
        subresource=found.subresource,
        namespace=namespace,
        name=name,
    )
