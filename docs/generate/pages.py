"""All pages of the reference, and where they are."""

from pathlib import Path

from docs.generate import commands, kinds, values
from isthmus.cli.main import cli
from isthmus.install.definitions import definitions

FOLDER = Path(__file__).parents[1] / "reference"


def pages() -> dict[Path, str]:
    """Return what each page has to say now."""
    return {
        FOLDER / "cli.md": commands.text(cli),
        FOLDER / "crds.md": kinds.text(definitions()),
        FOLDER / "values.md": values.text(),
    }
