"""``python -m bench``: Isthmus beside others and beside the floor, part by part.

Parts are measured one after the other, each is recorded as soon as it is done, and each can be
measured again alone. In the end come the tables, how costs grow, and a verdict for each goal.
"""

import argparse
import logging
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from bench import document, goals, growth, peers, plots, record
from bench import report as reports
from bench.lineup import CONTENDERS
from bench.mirroring.peer import peers as read_peers
from bench.parts import GROUPS, PARTS, Options, Part
from bench.report import Report
from bench.trial import Failed
from isthmus.model.errors import IsthmusError

RECORDED = peers.ROOT / "bench" / "results"
DOCUMENT = peers.ROOT / "docs" / "performance.md"
DRAWINGS = peers.ROOT / "docs" / "performance"
EDGE = "kube-edge"
NAMES = tuple(part.name for part in PARTS)
RIVALS = tuple(contender.name for contender in CONTENDERS)


def main() -> int:
    arguments = _parser().parse_args()
    # A terminated run ends its servers and removes their data, as an interrupted one does.
    # Shells let background jobs ignore Ctrl-C, which is no reason to ignore that they are ended.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # What Envoy says is of interest only where nothing is measured.
    logging.basicConfig(level=logging.CRITICAL)
    try:
        options = Options(
            quick=arguments.quick,
            runs=arguments.runs,
            sizes=arguments.sizes or (),
            peers=read_peers(arguments.peer, arguments.prepare),
            contenders=tuple(name for name in arguments.only if name in RIVALS),
            side=arguments.side,
        )
        chosen = choose(arguments.only)
        _refuse_nonsense(options, [part.name for part in chosen])
        # What is quick, or without some of those who take part, is nothing to be written down.
        book = Book(is_lasting=not (options.quick or options.contenders))
        if arguments.render:
            book.show(set(NAMES))
        else:
            _warn_if_busy()
            _measure(chosen, options, book)
            book.show({part.name for part in chosen})
    except IsthmusError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _measure(chosen: Sequence["Part[msgspec.Struct]"], options: Options, book: "Book") -> None:
    for number, part in enumerate(chosen):
        took = "" if options.quick else f", about {part.minutes:.0f} minutes"
        print(
            f"[{number + 1}/{len(chosen)}] {part.name}: {part.about}{took}",
            file=sys.stderr,
            flush=True,
        )
        began = time.monotonic()
        found = part.measure(options)
        if found is not None:
            book.enter(part, found)
        print(f"{part.name}: took {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)


class Book:
    """What is recorded: for good and for the document, or only for a first look."""

    def __init__(self, *, is_lasting: bool) -> None:
        self._is_lasting = is_lasting
        self._folder = RECORDED if is_lasting else RECORDED / "quick"
        self._drawings = DRAWINGS if is_lasting else self._folder

    @property
    def _path(self) -> Path:
        return self._folder / "results.json"

    def enter(self, part: "Part[msgspec.Struct]", found: msgspec.Struct) -> None:
        """Record what a part has found, at once: whoever stops later keeps it."""
        before = record.read(self._path, part.name, part.shape)
        record.write(self._path, part.name, part.merged(before, found))

    def show(self, names: set[str]) -> None:
        """Print these parts, then what follows from all; write everything into the document."""
        known = self._reports()
        for name, report in known.items():
            if name in names:
                print(f"== {name}\n\n{reports.terminal(report)}")
        curves = growth.table(goals.growths(known.values()))
        judged = goals.judged(known)
        print(document.aligned(curves))
        print("\nGoals\n" + "\n".join(judged))
        drawn = {name: self._draw(report) for name, report in known.items()}
        if self._is_lasting:
            for name, report in known.items():
                document.replace_section(DOCUMENT, name, reports.markdown(report, drawn[name]))
            document.replace_section(DOCUMENT, "growth", document.piped(curves))
            document.replace_section(DOCUMENT, "goals", "\n".join(f"- {one}" for one in judged))
        where = ", ".join(
            str(path.relative_to(peers.ROOT)) for path in (self._path, self._drawings)
        )
        print(f"recorded in {where}", file=sys.stderr)

    def _reports(self) -> Mapping[str, Report]:
        found: dict[str, Report] = {}
        for part in _parts():
            section = record.read(self._path, part.name, part.shape)
            if section is not None:
                found[part.name] = part.report(section)
        return found

    def _draw(self, report: Report) -> list[str]:
        """Draw what a report has to show; return the names of what was drawn."""
        drawn = []
        for name, plot in report.plots.items():
            kept = plots.drawable(plot)
            if kept is not None:
                self._drawings.mkdir(parents=True, exist_ok=True)
                (self._drawings / f"{name}.svg").write_text(plots.svg(kept))
                drawn.append(name)
        return drawn


def _parts() -> Sequence["Part[msgspec.Struct]"]:
    return PARTS  # type: ignore[return-value]  # each is of its own section, and meets no other


def choose(only: Sequence[str]) -> list["Part[msgspec.Struct]"]:
    """Return the parts that are meant; without any name, all that need nothing special."""
    wanted = {name for one in only for name in GROUPS.get(one, (EDGE if one in RIVALS else one,))}
    return [part for part in _parts() if (part.name in wanted if wanted else not part.is_extra)]


def _refuse_nonsense(options: Options, names: Sequence[str]) -> None:
    """A thousand exports are a size of one part, and a thousand links of none."""
    if options.sizes and len(names) != 1:
        raise Failed("--sizes are those of one part; say which by --only")
    if options.side and names != ["cold"]:
        raise Failed("--side is for cold alone: --only cold")


def _warn_if_busy() -> None:
    """Say beforehand that the figures will not be worth much, rather than let them surprise."""
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > cores / 2:
        print(
            f"this machine is busy (load {load:.1f} on {cores} cores): "
            "believe memory and CPU, not wall times",
            file=sys.stderr,
        )


def _parser() -> argparse.ArgumentParser:
    described = "\n".join(f"  {part.name:<10} {part.about}" for part in PARTS)
    together = "\n".join(f"  {name:<10} {', '.join(parts)}" for name, parts in GROUPS.items())
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Measures Isthmus beside others and beside the floor, part by part.",
        epilog=f"parts:\n{described}\nseveral parts:\n{together}\n"
        f"of {EDGE}, also alone:\n  {', '.join(RIVALS)}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--quick", action="store_true", help="small sizes and one round; nothing is kept"
    )
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        choices=[*NAMES, *GROUPS, *RIVALS],
        metavar="NAME",
        help="a part, several of them, or a client of the Kubernetes edge; may be repeated",
    )
    parser.add_argument("--runs", type=int, help="of everyone, in turn (default: by part)")
    parser.add_argument("--sizes", type=_sizes, help="growing, as 100,1000 (default: by part)")
    parser.add_argument(
        "--peer",
        action="append",
        default=[],
        metavar="NAME=COMMAND",
        help="another mirror, for cold and changes; in its command {source} and {target} stand "
        "for the files of both kubeconfigs, {cluster} for the target's name, {folder} for a "
        "private folder",
    )
    parser.add_argument(
        "--prepare",
        action="append",
        default=[],
        metavar="NAME=COMMAND",
        help="what is run before a peer, before the clock starts; the same placeholders",
    )
    parser.add_argument(
        "--side",
        choices=["ours", "floor"],
        default="",
        help="of cold, the largest size: one side of one round now, and the floor's later",
    )
    parser.add_argument("--render", action="store_true", help="write what is recorded down again")
    return parser


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(sorted({int(one) for one in text.split(",")}))


if __name__ == "__main__":
    sys.exit(main())
