"""A request, understood: what is asked, by whom, with which options."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import msgspec
import yaml

from isthmus.embedded.access.principals import User
from isthmus.embedded.api.routing import Route
from isthmus.embedded.kinds import admission, causes
from isthmus.embedded.kinds.kind import Kind
from isthmus.embedded.kinds.refusals import bad_request, invalid
from isthmus.embedded.patches.apply import FieldManager, manager_name
from isthmus.embedded.patches.patch import whole
from isthmus.embedded.state.registry import Registry
from isthmus.embedded.status import Refusal
from isthmus.model.wire import Json, JsonObject

BODY_LIMIT = 3 * 1024 * 1024
_INTEGER = re.compile(r"[+-]?[0-9]+")
_DIGITS = 19  # of the largest number with 64 bits
_LONGEST_NUMBER = 256  # characters, in YAML
_SHOWN = 30  # bytes of a broken body that the refusal quotes
_SHAPES = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "bool",
}  # the types of JSON, as Go names them
_SCHEME = "pkg/runtime/scheme.go:111"  # where the real server's table of kinds is made
JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"  # understood by the HTTP front
APPLY = "application/apply-patch+yaml"
_OPTIONS = {
    "create": "CreateOptions",
    "update": "UpdateOptions",
    "patch": "PatchOptions",
    "delete": "DeleteOptions",
    "deletecollection": "DeleteOptions",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request to one route. Header names are lower case."""

    route: Route
    verb: str  # as RBAC knows it
    user: User
    registry: Registry
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    now: datetime
    as_of: int | None = None  # answer reads as if nothing later had happened

    @property
    def kind(self) -> Kind:
        return self.route.kind

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", JSON).partition(";")[0].strip().lower() or JSON

    @property
    def dry_run(self) -> bool:
        return self.query.get("dryRun") == "All"

    def flag(self, name: str) -> bool:
        return self.query.get(name, "").lower() in ("true", "1")

    def number(self, name: str) -> int:
        text = self.query.get(name) or "0"
        if not _INTEGER.fullmatch(text):
            raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
        # Python refuses to read thousands of digits at all, so they are counted first.
        if len(text.lstrip("+-")) > _DIGITS or not -(2**63) <= int(text) < 2**63:
            raise bad_request(f'strconv.ParseInt: parsing "{text}": value out of range')
        return int(text)

    def check_options(self) -> None:
        """Refuse option values that the verb does not know."""
        if not self.route.name:
            for name in ("limit", "timeoutSeconds"):
                self.number(name)
        options = _OPTIONS.get(self.verb)
        dry_run = self.query.get("dryRun")
        if options and dry_run and dry_run != "All":
            cause = causes.unsupported("dryRun", [dry_run], ("All",))
            raise invalid("meta.k8s.io", options, "", (cause,))
        if self.verb == "patch":
            self._check_patch_options()

    def _check_patch_options(self) -> None:
        applies, wrong = self.content_type == APPLY, None
        if applies and not self.query.get("fieldManager"):
            wrong = causes.required("fieldManager", "is required for apply patch")
        elif not applies and "force" in self.query:
            wrong = causes.forbidden("force", "may not be specified for non-apply patch")
        if wrong is not None:
            raise invalid("meta.k8s.io", "PatchOptions", "", (wrong,))

    def manager(self, operation: str = "Update") -> FieldManager:
        """Who owns the fields that this call writes."""
        told, agent = self.query.get("fieldManager", ""), self.headers.get("user-agent", "")
        return FieldManager(
            name=manager_name(told, agent) or "unknown",
            now=self.now,
            operation=operation,
            subresource=self.route.subresource,
            force=self.flag("force"),
        )


class _Loader(yaml.SafeLoader):
    """YAML as Kubernetes reads it: what looks like a date is text."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if not tag.endswith(":timestamp")]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _number(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> Json:
    """A number as Kubernetes reads it: 1:30 is text, and not ninety."""
    text = str(loader.construct_scalar(node))
    if ":" in text:
        return text
    if len(text) > _LONGEST_NUMBER:
        raise ValueError("number out of range")
    whole_number = node.tag.endswith(":int")
    return (loader.construct_yaml_int if whole_number else loader.construct_yaml_float)(node)


for _tag in ("int", "float"):
    _Loader.add_constructor(f"tag:yaml.org,2002:{_tag}", _number)


def _yaml(body: bytes) -> Json:
    """YAML; most of it is JSON, which decodes a hundred times faster."""
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError:
        return whole(yaml.load(body, Loader=_Loader))


def decoded(body: bytes, content_type: str, kind: str) -> JsonObject:
    """The object in a body of some kind; refuses what is neither JSON nor YAML."""
    try:
        found = _yaml(body) if content_type in (YAML, APPLY) else msgspec.json.decode(body)
    except RecursionError:
        raise _unrecognized(body, kind, "json: exceeded max depth") from None
    except (msgspec.DecodeError, yaml.YAMLError, ValueError) as error:
        raise _unrecognized(body, kind, _complaint(body, str(error))) from None
    if not isinstance(found, dict | None):
        why = f"json: cannot unmarshal {_shape(found)} into Go value"
        raise _unrecognized(body, kind, why)
    return found or {}


def _shape(value: Json) -> str:
    return _SHAPES.get(type(value), "number")


def _complaint(body: bytes, error: str) -> str:
    """What the real server's parser says about a broken body."""
    if not body or "truncated" in error:
        return "unexpected end of JSON input"
    found = re.search(r"\(byte (\d+)\)", error)
    if found is None or int(found[1]) >= len(body):
        return error.splitlines()[0]
    return f"invalid character '{chr(body[int(found[1])])}' looking for beginning of value"


def _unrecognized(body: bytes, kind: str, why: str) -> Refusal:
    if not body:
        shown = "<empty>"
    else:
        cut = body[:_SHOWN]
        shown = cut.decode(errors="replace") if body.startswith(b"{") else cut.hex()
        shown += " ..." if len(body) > _SHOWN else ""
    return bad_request(
        f"the object provided is unrecognized (must be of type {kind}): couldn't get "
        f"version/kind; json parse error: {why} ({shown})"
    )


def accepts(content_type: str) -> None:
    """Refuse bodies in a format that is not served, so that clients fall back to JSON."""
    if content_type not in (JSON, YAML):
        raise Refusal(
            415,
            "UnsupportedMediaType",
            "the body of the request was in an unknown format - accepted media types include: "
            f"{JSON}, {YAML}, {PROTOBUF}",
        )


def check_accepted(accept: str) -> None:
    """Refuse to answer a client that reads nothing that is served."""
    wanted = {media.partition(";")[0].strip().lower() for media in accept.split(",")}
    if wanted.isdisjoint(("", "*/*", "application/*", JSON)):
        message = f"406: Not Acceptable\n\nAvailable representations: {JSON}"
        raise Refusal(406, "NotAcceptable", message, has_details=True)


def object_of(call: Call, kind: Kind | None = None) -> JsonObject:
    """The object in a create or update, checked to be of the kind that the path names."""
    kind = kind or call.kind
    accepts(call.content_type)
    found = decoded(call.body, call.content_type, kind.name)
    for name in ("apiVersion", "kind"):
        if not isinstance(found.get(name), str | None):
            what = f"{_shape(found[name])} into Go struct field .{name} of type string"
            raise _unrecognized(call.body, kind.name, f"json: cannot unmarshal {what}")
    return typed(kind, found, call.registry)


def typed(kind: Kind, found: JsonObject, registry: Registry) -> JsonObject:
    """``found`` with kind and apiVersion first, all of it checked to fit the kind."""
    if not kind.strategic:
        _check_custom(kind, found)
    said_kind = found.get("kind") or kind.name
    said_version = found.get("apiVersion") or kind.api_version
    metadata = found.get("metadata")
    why = ""
    meant = registry.named(said_version, said_kind)
    known = said_kind == kind.name or meant is not None
    if meant and meant.resource == kind.resource and said_version != kind.api_version:
        raise _other_version(kind, said_version)
    if said_version != kind.api_version or not known:
        why = f'no kind "{said_kind}" is registered for version "{said_version}" in scheme '
        why += f'"{_SCHEME}"'
    elif said_kind != kind.name:
        why = f"converting ({kind.version}.{said_kind}) to ({kind.name}): unknown conversion"
    if why:
        version = str(said_version).rpartition("/")[2]
        raise bad_request(
            f'{said_kind} in version "{version}" cannot be handled as a {kind.name}: {why}'
        )
    rest = {k: v for k, v in found.items() if k not in ("kind", "apiVersion", "metadata")}
    admission.decoded(kind, found)  # so that nobody has to ask again what is a text
    return {
        "kind": kind.name,
        "apiVersion": kind.api_version,
        "metadata": dict(metadata or {}),
        **rest,
    }


def _check_custom(kind: Kind, found: JsonObject) -> None:
    """Custom objects have to say what they are, and are told off in other words."""
    said_kind, said_version = found.get("kind"), found.get("apiVersion") or ""
    if not said_kind:
        whole = msgspec.json.encode(found).decode()
        shown = whole if len(whole) <= _SHOWN else f"{whole[:_SHOWN]} ..."
        raise bad_request(
            f"the object provided is unrecognized (must be of type {kind.name}): "
            f"Object 'Kind' is missing in '{whole}' ({shown})"
        )
    if said_version != kind.api_version:
        raise _other_version(kind, said_version)
    if said_kind != kind.name:
        cause = causes.invalid("kind", said_kind, f"must be {kind.name}")
        name = (found.get("metadata") or {}).get("name") or ""
        raise invalid(kind.group, said_kind, name, (cause,))


def _other_version(kind: Kind, said: str) -> Refusal:
    return bad_request(
        f"the API version in the data ({said}) does not match the expected API version "
        f"({kind.api_version})"
    )
