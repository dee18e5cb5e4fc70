"""What a goal has come to: whether it holds, and what shows it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    goal: str
    met: bool
    evidence: str

    def __str__(self) -> str:
        return f"{'met' if self.met else 'MISSED'}: {self.goal} ({self.evidence})"
