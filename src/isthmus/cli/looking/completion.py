"""``isthmus completion``: the script by which a shell knows what can be typed."""

import click

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_ISTHMUS_COMPLETE"  # by it the script asks us, as click wants it


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a script for a shell's completion.

    The shell then completes commands, options, contexts of the kubeconfig, and Links.

    \b
      bash: isthmus completion bash > ~/.local/share/bash-completion/completions/isthmus
      zsh:  isthmus completion zsh > ~/.zfunc/_isthmus   (a folder of $fpath)
      fish: isthmus completion fish > ~/.config/fish/completions/isthmus.fish
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None, f"click knows {shell}"
    made = kind(ctx.find_root().command, {}, "isthmus", VARIABLE)
    # Not source(): for bash it starts one, to warn of versions that nobody has any more.
    click.echo(made.source_template % made.source_vars())
