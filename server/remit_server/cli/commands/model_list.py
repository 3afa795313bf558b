"""`remit model list`: the models on this machine, whether they can be used, and whether they fit into its memory."""

from __future__ import annotations

import argparse
import os
from dataclasses import asdict

from remit_server.cli.console import print_json, say, style_text
from remit_server.cli.main import DONE
from remit_server.models.local.hub.listing import ListedModel, list_models
from remit_server.runtime.config.layers import resolve

MIB = 1 << 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("--json", action="store_true", help="one JSON object a line, for machines")
    parser.set_defaults(model_run=run)


def run(arguments: argparse.Namespace) -> int:
    """Lists the models and marks the configured one."""
    for listed in list_models(os.environ, resolve(None).form.model.name):
        if arguments.json:
            print_json(as_json(listed))
        else:
            say(draw_model(listed))
    return DONE


def as_json(listed: ListedModel) -> dict[str, object]:
    """Returns one model as a flat object."""
    rest = {"configured": listed.configured, "fits": listed.fits, "usable": listed.model.problem is None}
    return {"reference": listed.reference, **rest, **asdict(listed.model)}


def draw_model(listed: ListedModel) -> str:
    """Returns one model as one line."""
    model = listed.model
    name = f"{'*' if listed.configured else ' '} {style_text(listed.reference, 'bold')}"
    if model.problem is not None:
        return f"{name} · {style_text(f'cannot be used: {model.problem}', 'yellow')}"
    parts = [model.architecture, model.weights]
    if not model.size_bytes:
        return " · ".join([name, *filter(None, parts)])
    parts += [f"{model.size_bytes / MIB:,.0f} MiB"]
    parts += [f"{model.context:,} tokens"] if model.context is not None else []
    needed = f"needs {model.memory_bytes / MIB:,.0f} MiB of memory"
    parts.append(needed if listed.fits else style_text(f"{needed}, more than this machine has", "red"))
    return " · ".join([name, *(part for part in parts if part)])
