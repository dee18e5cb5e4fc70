"""What the lab takes from Debian: the programs around Kubernetes that nobody needs to build."""

import os
import shutil
import subprocess
from pathlib import Path

from isthmus.model.errors import Permanent

PACKAGES = {  # a file that shows that the package is there
    "containerd": "/usr/bin/containerd",
    "runc": "/usr/sbin/runc",
    "containernetworking-plugins": "/usr/lib/cni/ptp",
    "busybox-static": "/bin/busybox",
    "debootstrap": "/usr/sbin/debootstrap",
    "iproute2": "/sbin/ip",
    "iptables": "/usr/sbin/iptables",  # the masquerading of the network plugins
    "nftables": "/usr/sbin/nft",
    "conntrack": "/usr/sbin/conntrack",
    "util-linux": "/usr/bin/unshare",
}


class NotPossibleHere(Permanent):
    """This machine, or this user, cannot run a lab with nodes. The text says what would help."""


def require_root() -> None:
    if os.geteuid() != 0:
        raise NotPossibleHere(
            "a lab with nodes makes namespaces, mounts and control groups: run it as root. "
            "Without root there is `make test-real`, a control plane without nodes."
        )


def missing() -> list[str]:
    return [package for package, file in PACKAGES.items() if not Path(file).exists()]


def install() -> None:
    """Install what is missing, with apt's own progress on the terminal."""
    wanted = missing()
    if not wanted:
        return
    apt = shutil.which("apt-get")
    if apt is None:
        raise NotPossibleHere(
            f"these programs are missing, and there is no apt-get to install them: "
            f"{', '.join(wanted)}"
        )
    print(f"installing {', '.join(wanted)} with apt-get", flush=True)
    # Debian starts what it installs; the lab runs a containerd of its own and wants no other.
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    steps = (
        [apt, "update", "--quiet"],
        [apt, "install", "--yes", "--quiet", "--no-install-recommends", *wanted],
    )
    for step in steps:
        if subprocess.run(step, env=environment, check=False).returncode != 0:
            raise NotPossibleHere(
                f"`{' '.join(step)}` failed; what it said is above. Install "
                f"{', '.join(wanted)} by hand, or mend apt, and try again."
            )
