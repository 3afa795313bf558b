"""`remit doctor`: checks model, sandbox, policy, audit and editor, and says how to fix what fails."""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

from remit_server import __version__
from remit_server.cli.commands.models_and_tools.model import describe_report
from remit_server.cli.console import print_result, style_text
from remit_server.cli.main import DONE, FAILED
from remit_server.cli.usage import add_common_arguments
from remit_server.counted import counted
from remit_server.errors import RemitError, SetupError
from remit_server.machine.free_space import free_disk, free_memory
from remit_server.models.check import check_model
from remit_server.runtime.audit.audit_service import last_vouched, verify_workspace
from remit_server.runtime.policy.policies import load_in_force
from remit_server.runtime.settings import Settings
from remit_server.runtime.turns.outcome import MIB, shortage
from remit_server.sandbox.choose import choose_sandbox
from remit_server.sandbox.probe import broken_of, probe
from remit_server.transports.lsp.editor import OWN_SERVER, Editor, ResponseError


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check: whether it passed, what was found, and a fix if it failed."""

    name: str
    good: bool
    detail: str
    fix: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add_common_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Runs all checks, with the default of every setting if the configuration cannot be used; exit code 1 if one
    fails."""
    found: list[Finding] = []
    settings = Settings.of_places(arguments.workspace)
    try:
        settings = Settings.from_environment(arguments.workspace)
    except SetupError as error:
        found.append(_failed("config", error))
    found += [examine(name, check, settings) for name, check in CHECKS.items()]
    for finding in found:
        print_result(asdict(finding), draw_finding(finding), as_json=arguments.json)
    return DONE if all(finding.good for finding in found) else FAILED


def examine(name: str, check: Callable[[Settings], Finding], settings: Settings) -> Finding:
    """Runs one check; a `RemitError` becomes a finding, too."""
    try:
        return check(settings)
    except RemitError as error:
        return _failed(name, error)


def _failed(name: str, error: RemitError) -> Finding:
    return Finding(name, good=False, detail=f"{error.what}: {error.why}", fix=error.fix)


def draw_finding(finding: Finding) -> str:
    """Returns a finding as one line, with the fix on a second one where it failed."""
    mark = style_text("✓", "green") if finding.good else style_text("✗", "red")
    return f"{mark} {finding.name:8} {finding.detail}" + (f"\n           fix: {finding.fix}" if finding.fix else "")


def _version(settings: Settings) -> Finding:
    del settings
    return Finding("remit", good=True, detail=f"{__version__}, Python {sys.version.split()[0]}, {sys.executable}")


def _model(settings: Settings) -> Finding:
    report = asyncio.run(check_model(settings.config.model.name, settings.engine))
    if report.problem is not None:
        return Finding("model", good=False, detail=report.problem.message, fix=report.problem.fix)
    return Finding("model", good=True, detail=describe_report(report))


def _sandbox(settings: Settings) -> Finding:
    sandbox = choose_sandbox(settings.workspace)
    isolation = sandbox.isolation()
    if not isolation.available:
        return Finding("sandbox", good=False, detail=isolation.why, fix=isolation.fix)
    broken = [p.name for p in broken_of(asyncio.run(probe(sandbox, Path.home(), os.getpid())), isolation)]
    if broken:
        return Finding(
            "sandbox",
            good=False,
            detail=f"{isolation.name} failed these isolation checks: {', '.join(broken)}",
            fix="see `remit sandbox check`",
        )
    return Finding("sandbox", good=True, detail=f"{isolation.name}, all isolation checks passed")


def _policy(settings: Settings) -> Finding:
    with closing(load_in_force(settings)) as loaded:
        policy, unanswerable = loaded.policy, loaded.unanswerable()
    if unanswerable is not None:
        return Finding("policy", good=False, detail=str(unanswerable), fix=unanswerable.fix)
    answers = f", and your answers in {settings.person_permissions}" if settings.person_permissions.exists() else ""
    own = "" if settings.person_policy.exists() else f"; a policy of yours would be {settings.person_policy}"
    found = f"{', '.join(policy.files)} ({counted(len(policy.warnings), 'warning')})"
    return Finding("policy", good=True, detail=f"{found}{own}{answers}")


def _audit(settings: Settings) -> Finding:
    if not settings.audit_database.exists():
        if said := last_vouched(settings, settings.audit_database):
            gone = f"the audit log that had {said['count']} records is gone from {settings.audit_database}"
            return Finding("audit", good=False, detail=gone, fix="put it back from a copy, and find out who removed it")
        return _nothing_recorded(settings)
    good, message = verify_workspace(settings)
    return Finding("audit", good, message, "" if good else "keep the file as evidence, and find out who wrote to it")


def _nothing_recorded(settings: Settings) -> Finding:
    there = next(place for place in (settings.state, *settings.state.parents) if os.path.lexists(place))
    if there.is_dir() and os.access(there, os.W_OK | os.X_OK):
        return Finding("audit", good=True, detail=f"nothing recorded yet for {settings.workspace}")
    detail = f"no log can be made in {settings.state}: {there} is not a folder that you may write to"
    return Finding("audit", good=False, detail=detail, fix="make it a writable folder, or set REMIT_STATE_DIR")


def _room(settings: Settings) -> Finding:
    if (short := shortage(settings)) is not None:
        return Finding("room", good=False, detail=short.why, fix=short.fix)
    memory = free_memory()
    left = "memory is not measured here" if memory is None else f"{memory // MIB:,} MiB of memory"
    return Finding("room", good=True, detail=f"{left} and {free_disk(settings.state) // MIB:,} MiB of disk are free")


def _editor(settings: Settings) -> Finding:
    try:
        asyncio.run(_handshake(settings))
    except (ResponseError, TimeoutError) as error:
        detail = f"the server did not answer `initialize`: {str(error) or 'it took too long'}"
        return Finding("editor", good=False, detail=detail, fix="start `remit serve` by hand and read what it says")
    found = [name for name in ("code", "codium", "nvim", "hx", "emacs", "zed") if shutil.which(name)]
    return Finding(
        "editor", good=True, detail=f"the server answers `initialize`; editors found: {', '.join(found) or 'none'}"
    )


async def _handshake(settings: Settings) -> None:
    editor = await Editor.start(OWN_SERVER, settings.workspace)
    try:
        await asyncio.wait_for(editor.initialize(), 30)
    finally:
        await editor.shutdown()


CHECKS: dict[str, Callable[[Settings], Finding]] = {
    "remit": _version,
    "policy": _policy,
    "audit": _audit,
    "sandbox": _sandbox,
    "room": _room,
    "editor": _editor,
    "model": _model,
}
