"""The layers of our own image: the locked requirements, and on top of them the wheel."""

import hashlib
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.images.layers import on_top, run

HOME = "opt/isthmus"  # a virtual environment
VERSION = "3.11"  # of the python3 that the Debian below has
PACKAGES = f"{HOME}/lib/python{VERSION}/site-packages"
RECIPE = 1  # counts up when the code below makes something else of the same content
SCRIPT = f"""\
#!/{HOME}/bin/python
import sys
from isthmus.cli.main import main
sys.exit(main())
"""
# Wheels for the C library of that Debian and for older ones.
PLATFORMS = (*(f"manylinux_2_{minor}" for minor in range(36, 16, -1)), "manylinux2014")


@dataclass(frozen=True, slots=True)
class Requirements:
    """A virtual environment with exactly the packages that a lock file names, by their hashes."""

    lock: Path

    def describe(self) -> str:
        return self.lock.name

    def content(self) -> object:
        return [PACKAGES, PLATFORMS, _digest(self.lock), RECIPE]

    def make(self, below: Sequence[Path], root: Path) -> None:
        _pip_install(root, "--require-hashes", "--requirement", str(self.lock))
        (root / HOME / "pyvenv.cfg").write_text("home = /usr/bin\n")
        programs = root / HOME / "bin"
        programs.mkdir()
        (programs / "python").symlink_to("/usr/bin/python3")
        _compile(below, root, self.describe())


@dataclass(frozen=True, slots=True)
class Wheel:
    """What a source tree builds, without what it requires."""

    source: Path
    parts: tuple[str, ...]  # files and folders that go into it

    def describe(self) -> str:
        return f"the wheel of {self.source.name}"

    def content(self) -> object:
        inside = [path for part in self.parts for path in _files(self.source / part)]
        return [
            RECIPE,
            *((str(path.relative_to(self.source)), _digest(path)) for path in sorted(inside)),
        ]

    def make(self, below: Sequence[Path], root: Path) -> None:
        with tempfile.TemporaryDirectory() as folder:
            build = ("--no-deps", "--no-build-isolation", "--wheel-dir", folder)
            run([*_pip("wheel"), *build, str(self.source)], self.describe())
            wheels = [str(path) for path in Path(folder).glob("*.whl")]
            _pip_install(root, "--no-deps", *wheels)
        program = root / HOME / "bin" / "isthmus"
        program.parent.mkdir()
        program.write_text(SCRIPT)
        program.chmod(0o755)
        _compile(below, root, self.describe())


def _pip_install(root: Path, *what: str) -> None:
    wanted = ["--only-binary=:all:", f"--python-version={VERSION}", "--implementation=cp"]
    wanted += [f"--platform={name}_x86_64" for name in PLATFORMS]
    target = ["--no-compile", f"--target={root / PACKAGES}"]
    run([*_pip("install"), *wanted, *target, *what], "pip install")
    # Those scripts would name the Python of this machine.
    shutil.rmtree(root / PACKAGES / "bin", ignore_errors=True)


def _pip(command: str) -> list[str]:
    return [sys.executable, "-m", "pip", "--disable-pip-version-check", command, "--quiet"]


def _compile(below: Sequence[Path], root: Path, what: str) -> None:
    """Write bytecode, since containers cannot: by this Python, or else by the image's."""
    compiling = ("-m", "compileall", "-q", "--invalidation-mode=unchecked-hash")
    if f"{sys.version_info.major}.{sys.version_info.minor}" == VERSION:
        places = (f"-s{root}", "-p/", str(root / PACKAGES))
        run([sys.executable, *compiling, *places], what)
    else:
        on_top(below, root, f'chroot "$root" python3 {" ".join(compiling)} /{PACKAGES}', what)


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    return [one for one in path.rglob("*") if one.is_file() and "__pycache__" not in one.parts]


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
