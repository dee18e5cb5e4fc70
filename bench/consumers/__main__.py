"""``python -m bench.consumers MODULE JOB VARIANT``: run one consumer once, print its cost."""

import dataclasses
import json
import sys
from importlib import import_module

from bench.meter import Counter, metered
from bench.target import Target


def main() -> None:
    module, job, variant = sys.argv[1:]
    target = Target(**json.load(sys.stdin))
    consumer = import_module(f"bench.consumers.{module}")
    if job == "list":
        found = dataclasses.asdict(metered(lambda: consumer.listing(target, variant)))
    else:
        counter = Counter(target.events)
        consumer.watching(target, counter)
        found = dataclasses.asdict(counter.watching())
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
