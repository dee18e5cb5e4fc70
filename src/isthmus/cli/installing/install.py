"""``isthmus install``: what can be typed."""

from pathlib import Path

import click

from isthmus.cli import options
from isthmus.cli.trusting.trust import FOLDER
from isthmus.cli.where import Where
from isthmus.model.wire import Json

FILE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.option("--cluster-name", default="", help="What other clusters call this one: west.")
@click.option(
    "--anchor", type=FOLDER, help="Where `trust create` put the anchor; an issuer is made from it."
)
@click.option("--trust-file", type=FILE, help="Instead: the anchors alone, in PEM.")
@click.option("--issuer", type=FOLDER, help="Instead: where `trust issue --out` put the issuer.")
@click.option(
    "--set",
    "sets",
    multiple=True,
    metavar="KEY=VALUE",
    help="One value; all of them: --keys. Many allowed.",
)
@click.option(
    "-f",
    "--values",
    "files",
    multiple=True,
    type=FILE,
    help="Choose by YAML. Many allowed, later ones win.",
)
@click.option("--ha", is_flag=True, help="Two pods of everything, never both gone.")
@click.option("--namespace", default="", help="Where everything runs; isthmus unless it is said.")
@click.option("--apply", is_flag=True, help="Bring it into the cluster instead of printing it.")
@click.option("--reset-values", is_flag=True, help="With --apply: forget what was chosen before.")
@click.option("--force-conflicts", is_flag=True, help="Take over fields that others have set.")
@options.timeout("1m", "With --apply: how long to wait for a namespace that is being deleted.")
@click.option("--keys", is_flag=True, help="Show everything that can be chosen, and end.")
@click.option(
    "-o",
    "output",
    type=click.Choice(["json", "yaml"]),
    help="Manifests in JSON; with --apply or --keys, what would be lines.",
)
@click.pass_obj
def install(where: Where, /, keys: bool, output: str | None, **chosen: Json) -> int:
    """Install Isthmus in a cluster: controller, gateway, egress, and all that they need.

    Two commands, once for each cluster; the first one once for all of them:

    \b
      isthmus trust create --out anchor
      isthmus --context west install --cluster-name west --anchor anchor --apply

    Without --apply it prints manifests, for kubectl or a repository. With an anchor there is a
    private key among them, which is not shown on a terminal. Leave the anchor out to have none:

    \b
      isthmus install --cluster-name west | kubectl --context west apply --server-side -f -
      isthmus trust issue --cluster west --anchor anchor --secret - |
        kubectl --context west apply --server-side -f -

    Typed again, it changes nothing that is as it should be: an issuer that can be used stays, and
    an anchor is never replaced (see `isthmus trust rotate`). An installation remembers what was
    chosen: with --apply, what is said now is laid over that. Thus the last line restores it, or
    brings it to the version of this command.

    \b
      isthmus install --keys
      isthmus install --cluster-name west --ha --set gateway.service.type=NodePort
      isthmus --context west install --apply
    """
    from isthmus.cli.installing import installing
    from isthmus.cli.installing.wishes import Wish

    if keys:
        click.echo(installing.described(output), nl=False)
        return 0
    return installing.install(where, Wish(**chosen), output)
