"""`remit auth set|list|remove`: API keys in the operating system's keyring (MOD-15)."""

from __future__ import annotations

import argparse
import getpass
import os
import sys

from remit_governance.visible import visible
from remit_server.cli.console import print_json, say
from remit_server.cli.main import DONE, FAILED
from remit_server.cli.usage import Subcommand, Subcommands, WrongUsage
from remit_server.models.remote import keys
from remit_server.models.remote.engines import PROVIDERS


def _set(arguments: argparse.Namespace) -> int:
    # A key is never an argument, because those are shown in the list of processes, and kept by shells.
    key = getpass.getpass("key: ") if sys.stdin.isatty() else sys.stdin.readline()
    if not (key := key.strip()):
        raise WrongUsage("no key was stored", "nothing was given", "type the key, or pipe it in")
    keys.store(arguments.name, key)
    say(f"the key for {visible(arguments.name, 'show')} is stored")
    return DONE


def _remove(arguments: argparse.Namespace) -> int:
    removed = keys.remove(arguments.name)
    name = visible(arguments.name, "show")
    say(f"the key for {name} is removed" if removed else f"there was no key for {name}")
    return DONE if removed else FAILED


def _list(arguments: argparse.Namespace) -> int:
    found = {name: _place_of_key(name) for name in PROVIDERS}
    if arguments.json:
        print_json(dict(found))
    else:
        for name, place in found.items():
            say(f"{name}: {place or 'no key'}")
    return DONE


def _place_of_key(name: str) -> str | None:
    """Returns where the key is, never the key."""
    variable = next((each for each in PROVIDERS[name].key_variables if os.environ.get(each)), None)
    if variable is not None:
        return f"in the environment, as {variable}"
    return "in the keyring" if keys.stored(name) else None


def _declare_name(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="PROVIDER|HOST", help="a provider, or the `host:port` of another server")


def _declare_list(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object")


COMMAND = Subcommands(
    {
        "set": Subcommand(_set, "store a key; type it when asked, or pipe it in", _declare_name, common=False),
        "list": Subcommand(
            _list, "list which providers have a key, and where it is stored", _declare_list, common=False
        ),
        "remove": Subcommand(_remove, "forget a key", _declare_name, common=False),
    }
)
add_arguments, run = COMMAND.add_arguments, COMMAND.run
