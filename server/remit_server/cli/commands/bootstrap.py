"""`remit bootstrap`: starts the language server and keeps it up (CLI-11 to CLI-13)."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from remit_server import bootstrap

START = "from remit_server.cli.main import enter; enter()"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("--check", action="store_true", help="only say which runtimes are here, and how to get others")
    parser.add_argument("--container", choices=("podman", "docker"), help="run the server in a container of it")
    parser.add_argument("--image", help="the container's image, in which `remit` is installed")
    parser.add_argument("--workspace", type=Path, default=Path(), help="the folder that the container may write")


def run(arguments: argparse.Namespace) -> int:
    """Serves until the client is gone, or the server has ended too often."""
    found = bootstrap.find_runtimes(bootstrap.this_system())
    if arguments.check:
        print(bootstrap.describe_runtimes(found))
        return bootstrap.DONE
    if arguments.container is None:
        if arguments.image is not None:
            return _refuse(
                "`--image` means nothing here", "the server runs in no container", "add `--container podman`"
            )
        return bootstrap.bootstrap([sys.executable, "-P", "-c", START, "serve"])
    missing = next((each for each in found if each.name == arguments.container and each.path is None), None)
    if missing is not None:
        why = f"there is no program `{missing.name}`"
        return _refuse("the server cannot run in a container", why, f"install it: {missing.install}")
    if arguments.image is None:
        return _refuse("the server cannot run in a container", "no image was named", "add `--image IMAGE`")
    workspace = bootstrap.Workspace(arguments.container, arguments.image, arguments.workspace.resolve())
    return bootstrap.bootstrap(["remit", "serve"], workspace)


def _refuse(what: str, why: str, fix: str) -> int:
    from remit_server.cli.usage import WrongUsage

    raise WrongUsage(what, why, fix)
