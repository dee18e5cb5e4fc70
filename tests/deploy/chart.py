"""The chart, and what Helm makes of it."""

import subprocess
from pathlib import Path

import yaml

from isthmus.model.wire import JsonObject
from lab.versions import HELM_CLIENT

CHART = Path(__file__).parents[2] / "deploy" / "chart"


class Refused(Exception):
    """Helm does not take these values; the text is what it says."""


def rendered(values: str, folder: Path) -> list[JsonObject]:
    """The objects that Helm renders from these values, which are YAML."""
    file = folder / "values.yaml"
    file.write_text(values)
    environment = {"HOME": str(folder), "PATH": "/usr/bin:/bin"}  # nothing of this machine's user
    done = subprocess.run(
        [HELM_CLIENT.path, "template", "isthmus", CHART, "--values", file],
        capture_output=True,
        text=True,
        env=environment,
        timeout=60,
        check=False,
    )
    if done.returncode != 0:
        raise Refused(done.stderr)
    return [one for one in yaml.load_all(done.stdout, Loader=LOADER) if one is not None]


LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
