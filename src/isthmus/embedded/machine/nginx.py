"""The real nginx, for pods of its image, where it is installed.

It serves the page that our own small server would: which pod answers, and what arrived of the
caller's identity. One process, without root, in a folder of its own.
"""

import shutil
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

from isthmus.embedded.machine.processes import answering, commanded, started
from isthmus.embedded.machine.programs import Programs, Site, page

# One process, because the worker of a master that is killed would be left behind.
_CONFIGURATION = dedent("""\
    daemon off;
    master_process off;
    pid nginx.pid;
    error_log stderr;
    events {{}}
    http {{
        access_log off;
        default_type text/plain;
        client_body_temp_path body;
        proxy_temp_path proxy;
        fastcgi_temp_path fastcgi;
        uwsgi_temp_path uwsgi;
        scgi_temp_path scgi;
        server {{
            {listens}
            location / {{ return 200 "{page}"; }}
        }}
    }}
    """)


def programs() -> Programs:
    """What replaces our own server where nginx is installed; nothing where it is not."""
    return {"nginx": nginx} if shutil.which("nginx") else {}


@asynccontextmanager
async def nginx(site: Site) -> AsyncIterator[Process]:
    """Run nginx until the pod ends."""
    command = await commanded(site)
    prefix = _prepared(command.folder, site)
    words = ("nginx", "-p", str(prefix), "-c", "nginx.conf")
    async with started(site, replace(command, words=words)) as child:
        await answering(site, child)
        yield child


def _prepared(folder: Path, site: Site) -> Path:
    prefix = folder / "nginx"
    prefix.mkdir(exist_ok=True)
    (prefix / "nginx.conf").write_text(configuration(site))
    return prefix


def configuration(site: Site) -> str:
    """What nginx is told: to answer at the pod's ports, and what."""
    told = {
        "host": "$http_host",
        "from": "$remote_addr",
        "x-forwarded-client-cert": "$http_x_forwarded_client_cert",
    }
    return _CONFIGURATION.format(
        listens=" ".join(f"listen {site.address}:{port};" for port in site.ports),
        page=page(site.hostname, told).replace("\n", "\\n"),
    )
