"""JSON as it comes off the wire, and the only place where its looseness is spelled out."""

from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import msgspec

Json: TypeAlias = Any  # None, bool, int, float, str, list or dict: whatever a peer has sent
JsonObject: TypeAlias = dict[str, Any]

# What msgspec raises, whatever it is given: for the wrong shape, for bytes that are no text (or
# text that is no characters), for bottomless depth.
UNREADABLE = (msgspec.MsgspecError, UnicodeError, RecursionError)

T = TypeVar("T")

# A list that the API may write as null. The class that has such a field turns null into the
# empty tuple when it is made, so nobody after it needs to know.
if TYPE_CHECKING:
    Nullable: TypeAlias = tuple[T, ...]
else:
    Nullable = tuple[T, ...] | None
