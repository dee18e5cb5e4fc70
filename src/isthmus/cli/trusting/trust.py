"""``isthmus trust``: make the anchor and the issuers, and look at certificates.

Private keys go to files that only their owner can read, or into a pipe; never to a terminal.
"""

import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from isthmus.cli import options
from isthmus.model import names
from isthmus.model.errors import Permanent
from isthmus.model.identities import MESH_DOMAIN
from isthmus.model.times import second_time, seconds

if TYPE_CHECKING:
    from isthmus.pki.keys import Pair

FOLDER = click.Path(file_okay=False, path_type=Path)
LONGEST = timedelta(days=36500)


def duration(text: str) -> timedelta:
    """Return how long a certificate shall hold: "365d", "24h"."""
    days = re.fullmatch(r"([0-9]{1,6})d", text)
    try:
        found = timedelta(days=int(days[1])) if days else timedelta(seconds=seconds(text))
    except (ValueError, OverflowError):
        raise click.BadParameter("not a duration such as 365d or 24h") from None
    if not timedelta(minutes=1) <= found <= LONGEST:
        raise click.BadParameter("it must be between a minute and 36500d")
    return found


class ToTerminal(Permanent):
    """A private key was about to be shown."""


@click.group()
def trust() -> None:
    """Make the certificates that clusters know each other by.

    One anchor for all clusters, which stays offline, and an issuer below it for each of them:

    \b
      isthmus trust create --out anchor
      isthmus trust issue --cluster west --anchor anchor --out issuers
      isthmus trust inspect issuers/west.crt --anchors anchor/anchor.crt
    """


@trust.command()
@click.option(
    "--mesh-domain", default=MESH_DOMAIN, show_default=True, help="What all clusters' names end in."
)
@click.option("--lifetime", type=duration, metavar="TIME", default="3650d", show_default=True)
@click.option("--out", type=FOLDER, required=True, help="Where anchor.crt and anchor.key go.")
def create(mesh_domain: str, lifetime: timedelta, out: Path) -> None:
    """Make the trust anchor that all clusters of a mesh share.

    Its key signs the issuers of clusters and nothing else: keep it offline.

    \b
      isthmus trust create --out anchor
      isthmus trust create --out anchor --mesh-domain mesh.example --lifetime 1825d
    """
    from isthmus.cli.trusting import files as trustfiles
    from isthmus.pki.anchor import create_anchor
    from isthmus.pki.keys import chain_pem, key_pem

    anchor = create_anchor(mesh_domain, datetime.now(UTC), lifetime)
    certificate, key = out / trustfiles.CERTIFICATE, out / trustfiles.KEY
    trustfiles.write_new({key: key_pem(anchor.key), certificate: chain_pem(anchor.certificate)})
    until = second_time(anchor.certificate.not_valid_after_utc)
    click.echo(f"Trust anchor of {mesh_domain}, until {until}:")
    click.echo(f"  {certificate}  for every cluster, in the ConfigMap {names.TRUST}")
    click.echo(f"  {key}  keep it offline; whoever has it can be anybody")


@trust.command()
@click.option("--cluster", required=True, help="What other clusters call it: west.")
@click.option("--anchor", type=FOLDER, required=True, help="Where `trust create` put the anchor.")
@click.option("--mesh-domain", help="Only for anchors that are not constrained to one.")
@click.option("--lifetime", type=duration, metavar="TIME", default="365d", show_default=True)
@click.option("--out", type=FOLDER, help="Write CLUSTER.crt and CLUSTER.key there.")
@click.option(
    "--secret", metavar="FILE", help="Write the Secret for the cluster; - for standard output."
)
@click.option("--namespace", default="isthmus", show_default=True, help="Of the Secret.")
def issue(
    cluster: str,
    anchor: Path,
    mesh_domain: str | None,
    lifetime: timedelta,
    out: Path | None,
    secret: str | None,
    namespace: str,
) -> None:
    """Make the issuer of a cluster, with which its controller signs.

    It can speak for that cluster and for no other. Its key never appears on a terminal:

    \b
      isthmus trust issue --cluster west --anchor anchor --secret - |
        kubectl --context west apply --server-side -f -
    """
    from isthmus.cli.trusting import files as trustfiles
    from isthmus.pki.anchor import mesh_domain_of
    from isthmus.pki.issuer import create_issuer
    from isthmus.pki.keys import chain_pem, key_pem

    if out is None and secret is None:
        raise click.UsageError("say where the issuer goes: --out, --secret, or both")
    if secret == "-" and sys.stdout.isatty():
        raise ToTerminal("a private key is not shown on a terminal; use a pipe, or --secret FILE")
    pair = trustfiles.read_anchor(anchor)
    domain = mesh_domain or mesh_domain_of(pair.certificate) or MESH_DOMAIN
    made = create_issuer(pair, cluster, domain, datetime.now(UTC), lifetime)
    files: dict[Path, bytes] = {}
    if out is not None:
        files[out / f"{cluster}.key"] = key_pem(made.key)
        files[out / f"{cluster}.crt"] = chain_pem(made.certificate)
    manifest = _secret(made, namespace)
    if secret not in (None, "-"):
        files[Path(str(secret))] = manifest.encode()
    trustfiles.write_new(files)
    if secret == "-":
        click.echo(manifest, nl=False)
    until = second_time(made.certificate.not_valid_after_utc)
    click.echo(f"Issuer of {cluster}.{domain}, until {until}", err=True)
    for path in files:
        click.echo(f"  {path}", err=True)


def _secret(issuer: "Pair", namespace: str) -> str:
    from isthmus.cli import render
    from isthmus.install.papers import issuer_secret
    from isthmus.pki.keys import chain_pem, key_pem

    made = issuer_secret(namespace, chain_pem(issuer.certificate), key_pem(issuer.key))
    return render.document(made, "yaml")


@trust.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--anchors",
    type=click.Path(path_type=Path),
    help="Also verify every chain against the anchors in this file.",
)
@options.data
def inspect(files: tuple[Path, ...], anchors: Path | None, output: str) -> int:
    """Show what certificates say: role, names, constraint, times, and what is wrong.

    Takes anchors, issuers, bundles and chains (the leaf first) in PEM. Private keys are passed
    over. Exits with 1 if anything is expired or wrong.

    \b
      isthmus trust inspect anchor/anchor.crt
      isthmus trust inspect issuers/west.crt --anchors anchor/anchor.crt -o json
    """
    from isthmus.cli.trusting import views as trustviews

    now = datetime.now(UTC)
    seen = trustviews.look(files, anchors, now)
    click.echo(trustviews.rendered(seen, output, now), nl=False)
    return 1 if trustviews.problems(seen) else 0
