"""Connects a model that the person chose: tries one governed step with it, and keeps it as theirs (MOD-27)."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path

from remit_server.errors import SetupError
from remit_server.models.check import ModelReport, check_model
from remit_server.models.remote.engines import sent_to
from remit_server.runtime.config.layers import Origin, resolve
from remit_server.runtime.config.own_setting import keep_setting
from remit_server.runtime.settings import engine_options

_MODEL = ("model", "name")


@dataclass(frozen=True, slots=True)
class Connected:
    """What came of it: what the trial step showed, the host that messages leave this machine for, and the file that
    keeps the model.

    Without a `file` nothing was kept: the step failed, as `report.problem` says. `before` is what names another model
    all the same, such as a variable.
    """

    report: ModelReport
    sent_to: str | None
    file: Path | None = None
    before: Origin | None = None


async def connect_model(reference: str, workspace: Path | None) -> Connected:
    """Tries a model, and keeps it in the person's configuration where it declares and calls as it has to.

    Raises SetupError for what is no reference, and where the configuration cannot be written.
    """
    leaves_for = sent_to(whole(reference))
    report = await check_model(reference, engine_options(resolve(workspace).form))
    if not report.ok:
        return Connected(report, leaves_for)
    file = await asyncio.to_thread(keep_setting, _MODEL, reference, os.environ)
    now = resolve(workspace)
    before = None if now.value(_MODEL) == reference else now.origins[_MODEL]
    return Connected(report, leaves_for, file, before)


def whole(reference: str) -> str:
    """Returns a reference that names a model. Raises SetupError for the beginning of one."""
    if reference.endswith(":"):
        fix = f"add its name, as in `{reference}NAME`; the service's own pages list them"
        raise SetupError("no model was connected", f"`{reference}` names a service, and no model of it", fix)
    return reference


def describe_connected(connected: Connected) -> str:
    """Returns what a person is told of a model that works: how it is held, where messages go, and what keeps it."""
    report = connected.report
    held = f" ({report.device}; one step took {report.step_s:.1f} s)" if report.calls else ""
    lines = [f"`{report.reference}` works{held}.", where_messages_go(connected.sent_to)]
    if connected.file is not None:
        lines.append(f"It is your model from now on, kept in `{connected.file}`.")
    if connected.before is not None:
        lines.append(f"But {connected.before} names another one, which counts before it: remove that to use this one.")
    return " ".join(lines)


def where_messages_go(host: str | None) -> str:
    """Returns the sentence that says where messages to a model go; None is this machine."""
    return "Messages to it stay on this machine." if host is None else f"Messages to it are sent to {host}."
