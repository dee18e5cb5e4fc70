"""``isthmus why``: what can be typed."""

import sys

import click

from isthmus.cli import options
from isthmus.cli.exits import FAILED
from isthmus.cli.where import Where


@click.command()
@click.argument("service")
@click.option(
    "-n",
    "of",
    type=options.inside,
    metavar="NAME",
    help="The namespace of SERVICE; else the context's.",
)
@options.context(
    "--from", "source", text="Of the source, or what it is called; else the context in use."
)
@options.context(
    "--to",
    "--target-context",
    "target",
    text="Of the target, or what it is called; else the Link says it.",
)
@click.option("--account", metavar="NAMESPACE/NAME", help="The caller's service account.")
@options.namespace
@options.data
@click.pass_obj
def why(where: Where, /, service: str, output: str, **chosen: str | None) -> int:
    """Find out why SERVICE of another cluster cannot be called, and how to mend it.

    SERVICE is an export (web), its mirror (web-west), a pod of a set (web-0.web-west), or the whole
    name or URL that is called. The way of a call is walked step by step, from the export in the
    target to a probe of its gateway; the first step that is broken is named with its cause and a
    fix, which can be typed as it stands, or else a hint. Exits with 1 if one is.

    Both clusters are looked at where the kubeconfig has contexts for them; with one of them, as
    much as it shows.

    \b
      isthmus --context east why web-west
      isthmus why nginx-set-0.nginx-svc-west -n default --from east --to west
      isthmus --context west why web --from east --account default/curl
      isthmus --context east why web-west -o json
    """
    import asyncio

    from isthmus.cli import render
    from isthmus.cli.checking import asking, whyviews
    from isthmus.cli.checking.walking.walk import first_broken

    question = asking.Question(
        service=service,
        namespace=chosen["of"],
        source=chosen["source"],
        target=chosen["target"],
        account=_account(chosen["account"]),
        isthmus=chosen["namespace"] or "isthmus",
    )
    answer = asyncio.run(asking.ask(where, question))
    click.echo(whyviews.rendered(answer, output, render.style(sys.stdout)), nl=False)
    return 0 if first_broken(answer.steps) is None else FAILED


def _account(text: str | None) -> str:
    namespace, slash, name = (text or "").partition("/")
    if text and not (namespace and slash and name):
        raise click.BadParameter(f"--account {text!r}: written as namespace/name")
    return text or ""
