"""The images of the lab, as values."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from lab.images.layers import Debian, Files, Layer, Packages
from lab.node import addons
from lab.node.settings import PAUSE
from lab.versions import DNS

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


NGINX = Image(
    name="docker.io/library/nginx:lab",
    layers=(Debian(), Packages(("nginx-light",))),
    command=("nginx", "-g", "daemon off;"),
)
CURL = Image(
    name="docker.io/library/curl:lab",
    layers=(Debian(), Packages(("curl",))),
    command=("sleep", "infinity"),
)

BY_NAME: Mapping[str, Callable[[], Image]] = {"nginx": lambda: NGINX, "curl": lambda: CURL}
