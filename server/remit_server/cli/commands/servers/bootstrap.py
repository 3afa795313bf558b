"""`remit bootstrap`: starts the language server and keeps it up (CLI-11 to CLI-15)."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from remit_server.bootstrap.container import Workspace
from remit_server.bootstrap.keep_up import DONE, bootstrap
from remit_server.bootstrap.runtimes import Found, describe_runtimes, find_runtimes, this_system

START = "from remit_server.cli.main import enter; enter()"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument(
        "--check", action="store_true", help="only list the runtimes found here, and how to install the others"
    )
    parser.add_argument(
        "--container", choices=("podman", "docker"), help="run the server in a container of this runtime"
    )
    parser.add_argument("--image", help="the container's image, with `remit` installed in it")
    parser.add_argument("--workspace", type=Path, default=Path(), help="the folder that the container may write to")


def run(arguments: argparse.Namespace) -> int:
    """Serves until the client is gone, or the server has ended too often."""
    found = find_runtimes(this_system())
    if arguments.check:
        print(describe_runtimes(found))
        return DONE
    if arguments.container is not None:
        return bootstrap(["remit", "serve"], _workspace(arguments, found))
    if arguments.image is not None:
        raise _wrong_usage(
            "`--image` has no effect here", "the server does not run in a container", "add `--container podman`"
        )
    return bootstrap([sys.executable, "-P", "-c", START, "serve"])


def _workspace(arguments: argparse.Namespace, found: Sequence[Found]) -> Workspace:
    """Returns what the container is made of. Raises WrongUsage if the server cannot run in one."""
    what, folder = "the server cannot run in a container", arguments.workspace.resolve()
    if not sys.platform.startswith("linux"):
        why = "it answers over a Unix socket, which cannot reach into the virtual machine that containers need here"
        raise _wrong_usage(what, why, "leave out `--container`: commands run in a sandbox anyway")
    missing = next((each for each in found if each.name == arguments.container and each.path is None), None)
    if missing is not None:
        raise _wrong_usage(what, f"there is no program `{missing.name}`", f"install it: {missing.install}")
    if arguments.image is None:
        raise _wrong_usage(what, "no image was named", "add `--image IMAGE`")
    if not folder.is_dir() or folder == Path(folder.anchor):
        why = f"`{arguments.workspace}` is not a folder it can write to"
        raise _wrong_usage(what, why, "use `--workspace FOLDER`")
    own = _own_folders(os.environ)
    return Workspace(arguments.container, arguments.image, folder, own, _passed(os.environ, own))


def _own_folders(environment: Mapping[str, str]) -> Mapping[str, Path]:
    """Returns Remit's folders outside the container, which else would lose policy, audit log and sessions."""
    from remit_server.runtime.own_files.places import config_folder, data_folder, state_folder

    found = {
        "REMIT_CONFIG_DIR": config_folder(environment),
        "REMIT_STATE_DIR": state_folder(environment),
        "REMIT_DATA_DIR": data_folder(environment),
    }
    own = {name: folder.resolve() for name, folder in found.items() if folder is not None}
    for folder in own.values():
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return own


def _passed(environment: Mapping[str, str], own: Mapping[str, Path]) -> tuple[str, ...]:
    """Returns the names of the variables to pass on: Remit's settings, and the keys of models."""
    from remit_server.models.remote.engines import PROVIDERS

    keys = {name for provider in PROVIDERS.values() for name in provider.key_variables}
    return tuple(
        sorted(name for name in environment if name in keys or (name.startswith("REMIT_") and name not in own))
    )


def _wrong_usage(what: str, why: str, fix: str) -> Exception:
    from remit_server.cli.usage import WrongUsage

    return WrongUsage(what, why, fix)
