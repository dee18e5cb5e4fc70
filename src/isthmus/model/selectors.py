"""Label selectors, with one rule of our own: one that says nothing selects nothing."""

from collections.abc import Mapping
from typing import Literal

from isthmus.model.objects import Value

NOTHING = "isthmus.dev/nothing,!isthmus.dev/nothing"  # no label is there and not there


class Requirement(Value, frozen=True, kw_only=True):
    """One line of ``matchExpressions``."""

    key: str
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    values: tuple[str, ...] = ()

    @property
    def query(self) -> str:
        match self.operator:
            case "In" | "NotIn":
                return f"{self.key} {self.operator.lower()} ({','.join(self.values)})"
            case "Exists":
                return self.key
            case "DoesNotExist":
                return f"!{self.key}"

    def holds(self, labels: Mapping[str, str]) -> bool:
        match self.operator:
            case "In":
                return labels.get(self.key) in self.values
            case "NotIn":
                return labels.get(self.key) not in self.values
            case "Exists":
                return self.key in labels
            case "DoesNotExist":
                return self.key not in labels


class Selector(Value, frozen=True, kw_only=True):
    """A LabelSelector. Kubernetes lets an empty one select everything; here that would export
    a whole cluster by an omission, so it selects nothing."""

    match_labels: Mapping[str, str] = {}
    match_expressions: tuple[Requirement, ...] = ()

    @property
    def query(self) -> str:
        """The same as a server reads it, so that it need not send what we would not look at."""
        if not self.match_labels and not self.match_expressions:
            return NOTHING
        equal = [f"{key}={value}" for key, value in sorted(self.match_labels.items())]
        return ",".join(equal + [one.query for one in self.match_expressions])

    def selects(self, labels: Mapping[str, str]) -> bool:
        if not self.match_labels and not self.match_expressions:
            return False
        return all(labels.get(key) == value for key, value in self.match_labels.items()) and all(
            requirement.holds(labels) for requirement in self.match_expressions
        )
