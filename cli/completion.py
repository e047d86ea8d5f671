import click

SHELLS = ("bash", "zsh", "fish")


@click.command(
    epilog="""\b
Examples:
  toolscript completion bash > ~/.local/share/bash-completion/completions/toolscript
  toolscript completion zsh > ~/.zfunc/_toolscript      (with ~/.zfunc in fpath)
  toolscript completion fish > ~/.config/fish/completions/toolscript.fish
"""
)
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the completion script for a shell."""
    from click.shell_completion import get_completion_class

    from cli.main import toolscript

    found = get_completion_class(shell)
    if found is None:  # click knows all of SHELLS
        raise click.UsageError(f"{shell} is not known.")
    click.echo(found(toolscript, {}, "toolscript", "_TOOLSCRIPT_COMPLETE").source())
