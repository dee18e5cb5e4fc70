"""Copies of JSON values: what ``copy.deepcopy`` does, without looking for what JSON cannot hold."""

from isthmus.model.wire import Json


def copied(value: Json) -> Json:
    """Return a value that shares nothing that can be changed with ``value``."""
    if isinstance(value, dict):
        return {name: copied(one) for name, one in value.items()}
    if isinstance(value, list):
        return [copied(one) for one in value]
    return value
