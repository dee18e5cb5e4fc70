"""The API's way to say no: a ``Status`` object, raised as an exception inside the server."""

from dataclasses import dataclass, field

from isthmus.model.wire import JsonObject


@dataclass(frozen=True, slots=True)
class Cause:
    """One field that is wrong, as in ``status.details.causes``."""

    reason: str  # FieldValueInvalid, FieldValueRequired, FieldValueNotSupported, …
    message: str
    field: str


@dataclass(slots=True)
class Refusal(Exception):
    """A request that the server answers with ``code`` and a Status body."""

    code: int
    reason: str
    message: str
    group: str = ""
    kind: str = ""
    name: str = ""
    causes: tuple[Cause, ...] = ()
    retry_after: int | None = None
    continue_token: str = ""  # of the 410 that ends a paged list half way
    headers: dict[str, str] = field(default_factory=dict)
    has_details: bool = False  # some answers carry details although there are none

    def __str__(self) -> str:
        return self.message

    def status(self) -> JsonObject:
        """The ``Status`` object of the answer."""
        details: JsonObject = {}
        if self.name:
            details["name"] = self.name
        if self.group:
            details["group"] = self.group
        if self.kind:
            details["kind"] = self.kind
        if self.causes:
            details["causes"] = [_shown(cause) for cause in self.causes]
        if self.retry_after is not None:
            details["retryAfterSeconds"] = self.retry_after
        metadata = {"continue": self.continue_token} if self.continue_token else {}
        status: JsonObject = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": metadata,
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if details or self.has_details:
            status["details"] = details
        status["code"] = self.code
        return status


def _shown(cause: Cause) -> JsonObject:
    shown: JsonObject = {"reason": cause.reason, "message": cause.message}
    return shown | {"field": cause.field} if cause.field else shown
