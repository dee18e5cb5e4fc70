"""JSON as it comes off the wire, and the only place where its looseness is spelled out."""

from typing import Any, TypeAlias

Json: TypeAlias = Any  # None, bool, int, float, str, list or dict: whatever a peer has sent
JsonObject: TypeAlias = dict[str, Any]
