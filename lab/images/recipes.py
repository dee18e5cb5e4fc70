"""The images of the lab, as values."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from isthmus import __version__
from lab.images.layers import Debian, Files, Layer, Packages
from lab.images.python import HOME, Requirements, Wheel
from lab.node import addons
from lab.node.settings import PAUSE
from lab.versions import DNS

SOURCE = Path(__file__).parents[2]
PATH = ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """What is in an image, the lowest layer first, and how it is started."""

    name: str  # complete, as containerd stores it
    layers: tuple[Layer, ...]
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = (PATH,)
    user: str = ""


def system() -> tuple[Image, ...]:
    """What a cluster cannot do without."""
    return (
        Image(
            name=PAUSE,
            layers=(Files((("/bin/busybox", Path("/bin/busybox")),)),),
            entrypoint=("/bin/busybox", "sleep", "infinity"),
        ),
        Image(
            name=addons.IMAGE,
            layers=(Files((("/coredns", DNS.path),)),),
            entrypoint=("/coredns",),
        ),
    )


# They are called like those that everybody knows, so that ordinary manifests find them.
NGINX = Image(
    name="docker.io/library/nginx:latest",
    layers=(
        Debian(),
        Packages(("nginx-light",)),
        Files((("/etc/nginx/nginx.conf", Path(__file__).with_name("nginx.conf")),)),
    ),
    command=("nginx", "-g", "daemon off;"),
)
CURL = Image(
    name="docker.io/curlimages/curl:latest",
    layers=(Debian(), Packages(("curl",))),
    command=("sleep", "infinity"),
)


def product() -> Image:
    """What deploy/Dockerfile makes, on Debian's own Python of the same version."""
    return Image(
        name=f"isthmus.dev/isthmus:{__version__}",
        layers=(
            Debian(),
            Packages(("python3",)),
            Requirements(SOURCE / "requirements.lock"),
            Wheel(SOURCE, ("src", "deploy/crds", "pyproject.toml", "README.md", "LICENSE")),
        ),
        entrypoint=(f"/{HOME}/bin/isthmus",),
        environment=(
            ("PATH", f"/{HOME}/bin:{PATH[1]}"),
            ("PYTHONDONTWRITEBYTECODE", "1"),
            ("PYTHONUNBUFFERED", "1"),
        ),
        user="65532:65532",
    )


BY_NAME: Mapping[str, Callable[[], Image]] = {
    "isthmus": product,
    "nginx": lambda: NGINX,
    "curl": lambda: CURL,
}
