"""What the answers of the demo's commands must say for its story to be true."""

import re

from isthmus.cli.showing.stage import Holds


def rows(answer: str) -> dict[str, dict[str, str]]:
    """The rows of a table by their first cell, each as its columns in lower case."""
    head, *lines = answer.splitlines() or [""]
    # Columns begin where their names do: a cell may be empty, or have spaces in it.
    starts = [found.start() for found in re.finditer(r"\S+(?: \S+)*", head)]
    names = [found[0].lower() for found in re.finditer(r"\S+(?: \S+)*", head)]
    ends = [*starts[1:], None]
    found = (
        {
            name: line[start:end].strip()
            for name, start, end in zip(names, starts, ends, strict=True)
        }
        for line in lines
    )
    return {row[names[0]]: row for row in found if names and row[names[0]]}


def has(*texts: str) -> Holds:
    return lambda answer: all(text in answer for text in texts)


def running(pods: int) -> Holds:
    """Exactly so many pods run, and all are ready."""

    def holds(answer: str) -> bool:
        found = rows(answer).values()
        states = {(row.get("ready"), row.get("status")) for row in found}
        return len(found) == pods and states == {("1/1", "Running")}

    return holds


def row(name: str, **wanted: str) -> Holds:
    """The columns of an object say what is wanted."""

    def holds(answer: str) -> bool:
        found = rows(answer).get(name, {})
        return all(found.get(column) == value for column, value in wanted.items())

    return holds


def mirrors(pods: int | None) -> Holds:
    """There are mirrors of exactly so many pods, and of their Service; None: nothing of them."""
    named = {f"nginx-set-{number}-west" for number in range(pods or 0)}
    wanted = named | ({"nginx-svc-west"} if pods is not None else set())

    def holds(answer: str) -> bool:
        return set(re.findall(r"\bnginx-(?:set-[0-9]+|svc)-west(?![\w.-])", answer)) == wanted

    return holds


def answered_by(pod: str) -> Holds:
    """That very pod has answered, and was told that default/curl of east has called."""

    def holds(answer: str) -> bool:
        told = re.search(r"^x-forwarded-client-cert: .*;URI=(\S+)$", answer, re.MULTILINE)
        who = told[1] if told else ""
        is_that_pod = answer.splitlines()[:1] == [f"Welcome, this is {pod}"]
        return is_that_pod and who == "spiffe://east.isthmus/ns/default/sa/curl"

    return holds
