"""What can be run inside of a pod here: a few programs of ours, under the names that people type.

Pods share this machine's files and resolver, so that its own programs would see the machine, not
the pod. These see what a pod sees: its address, its names, and ports where they were moved to.
"""

import argparse
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NoReturn, TypeAlias

from isthmus.embedded.api.executing import Execute, Execution, Output
from isthmus.embedded.machine.machine import Machine, NoSuchPod
from isthmus.embedded.mesh import callers
from isthmus.embedded.mesh.calls import Answer, Asked, Caller, Unanswered, call
from isthmus.embedded.mesh.lookups import NoNames
from isthmus.model.errors import Permanent
from isthmus.model.quoting import one_line

_LONGEST = 80


Tool: TypeAlias = Callable[[Caller, Sequence[str]], Awaitable[Output]]


class _Misused(Permanent):
    """Words that a program does not understand."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _Misused(message)


async def run(who: Caller, words: Sequence[str]) -> Output:
    """Run what ``words`` say, as ``who``."""
    name, *rest = words or [""]
    tool = TOOLS.get(name)
    if tool is None:
        text = f"{one_line(name, _LONGEST)!r}: no such program here; there are {', '.join(TOOLS)}\n"
        return Output(err=text, code=127)
    try:
        return await tool(who, rest)
    except _Misused as error:
        return Output(err=f"{name}: {one_line(str(error), _LONGEST)}\n", code=2)
    except NoNames as error:
        return Output(err=f"{name}: {error}\n", code=1)


def executing(machine: Machine) -> Execute:
    """What ``kubectl exec`` does in the pods of a machine."""

    async def execute(wanted: Execution) -> Output:
        try:
            who = callers.here(machine, wanted.pod)
        except NoSuchPod as error:
            return Output(err=f"{error}\n", code=1)
        return await run(who, wanted.command)

    return execute


async def _curl(who: Caller, words: Sequence[str]) -> Output:
    told = _CURL.parse_args(words)
    headers = dict(_header(one) for one in told.header)
    asked = Asked(told.url, "HEAD" if told.head else told.request, headers, told.max_time)
    try:
        answer = await call(who, asked)
    except Unanswered as error:
        is_quiet = told.silent and not told.show_error
        return Output(err="" if is_quiet else f"curl: ({error.code}) {error}\n", code=error.code)
    said = _conversation(asked, answer) if told.verbose else ""
    if told.fail and answer.status >= 400:
        why = f"curl: (22) The requested URL returned error: {answer.status}\n"
        return Output(err=said + why, code=22)
    head = f"{answer.head}\n\n" if told.include or told.head else ""
    return Output(head + answer.body, said)


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise _Misused(f"option -H: {text!r} is not of the form Name: value")
    return name.strip(), value.strip()


def _conversation(asked: Asked, answer: Answer) -> str:
    """What was asked and answered, but for the body."""
    asked_lines = [f"{asked.method} {asked.url}", *(f"{k}: {v}" for k, v in asked.headers.items())]
    lines = [*(f"> {line}" for line in asked_lines), ">"]
    lines += [*(f"< {line}" for line in answer.head.splitlines()), "<"]
    return "\n".join(lines) + "\n"


async def _nslookup(who: Caller, words: Sequence[str]) -> Output:
    name = _NAME.parse_args(words).name
    server = "{}#{}".format(*who.name_server)
    said = f"Server:\t\t{who.name_server[0]}\nAddress:\t{server}\n\n"
    found = await who.resolve(name)
    if not found:
        return Output(f"{said}** server can't find {name}: NXDOMAIN\n", code=1)
    return Output(said + "".join(f"Name:\t{name}\nAddress: {one}\n" for one in found))


async def _getent(who: Caller, words: Sequence[str]) -> Output:
    name = _HOSTS.parse_args(words).name
    found = await who.resolve(name)
    return Output("".join(f"{one:<16}{name}\n" for one in found), code=0 if found else 2)


def _curl_parser() -> _Parser:
    parser = _Parser(prog="curl", add_help=False, allow_abbrev=False)
    for short, long in (
        ("-s", "--silent"),
        ("-S", "--show-error"),
        ("-i", "--include"),
        ("-I", "--head"),
        ("-f", "--fail"),
        ("-v", "--verbose"),
    ):
        parser.add_argument(short, long, action="store_true")
    parser.add_argument("-H", "--header", action="append", default=[])
    parser.add_argument("-X", "--request", default="GET")
    parser.add_argument("-m", "--max-time", type=float, default=Asked("").patience)
    parser.add_argument("url")
    return parser


def _name_parser(*before: str) -> _Parser:
    parser = _Parser(add_help=False, allow_abbrev=False)
    for word in before:
        parser.add_argument("database", choices=[word])
    parser.add_argument("name")
    return parser


_CURL = _curl_parser()
_NAME = _name_parser()
_HOSTS = _name_parser("hosts")
TOOLS: Mapping[str, Tool] = {"curl": _curl, "nslookup": _nslookup, "getent": _getent}
