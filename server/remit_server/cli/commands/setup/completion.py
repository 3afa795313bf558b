"""`remit completion bash|zsh|fish`: what a shell reads to complete `remit`'s words."""

from __future__ import annotations

import argparse

from argcomplete.shell_integration import shellcode

from remit_server.cli.console import say
from remit_server.cli.main import DONE

SHELLS = ("bash", "zsh", "fish")
WHERE = {
    "bash": 'eval "$(remit completion bash)" in ~/.bashrc',
    "zsh": 'eval "$(remit completion zsh)" in ~/.zshrc, after compinit',
    "fish": "remit completion fish > ~/.config/fish/completions/remit.fish",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.epilog = "; ".join(f"{shell}: {where}" for shell, where in WHERE.items())
    parser.add_argument("shell", choices=SHELLS, help="the shell to print the script for")


def run(arguments: argparse.Namespace) -> int:
    """Prints the script."""
    say(shellcode(["remit"], shell=arguments.shell).rstrip())
    return DONE
