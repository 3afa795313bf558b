"""Asks in the terminal whether what a folder brings is trusted, once (CFG-06)."""

from __future__ import annotations

from pathlib import Path

from remit_governance.visible import visible
from remit_server.cli.console import say, style_text
from remit_server.runtime.trust import arrived, brought, read_trust, write_trust


def settle_trust(root: Path) -> None:
    """Asks about a folder that brings something, where the person was not asked yet. Raises SetupError."""
    there = brought(root)
    if not there or read_trust(root) is not None:
        return
    new = arrived(root)
    has = "has, since you trusted it," if new else "has"
    say(f"{visible(str(root), 'show')} {has} {', '.join(f'`{name}`' for name in new or there)}.")
    say("Their text is sent to the model and can change its answers. You still decide what is allowed.")
    try:
        answer = input(f"{style_text('Do you trust the authors of this folder?', 'yellow')} [y/N] ").strip().lower()
    except EOFError:
        return
    write_trust(root, trusted=answer in {"y", "yes"})
    if answer not in {"y", "yes"}:
        say("These files are ignored. `remit config trust` changes that.")
