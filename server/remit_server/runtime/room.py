"""Whether there is room for a turn: memory, and the disks of the workspace and of Remit's own files (OBS-03)."""

from __future__ import annotations

from contextlib import suppress

from remit_server.contract import ErrorCode
from remit_server.errors import RemitError
from remit_server.machine import free_disk, free_memory
from remit_server.runtime.settings import Settings

MIB = 1 << 20


def shortage(settings: Settings) -> RemitError | None:
    """Returns why no turn should begin, or None. What cannot be measured is no reason."""
    limits = settings.config.limits
    free = free_memory() if limits.spare_memory_mib else None
    if free is not None and free < limits.spare_memory_mib * MIB:
        least = f"the {limits.spare_memory_mib} of `limits.spare_memory_mib`"
        why = f"{free // MIB} MiB of memory are free, less than {least}"
        return _refusal(why, "close programs that use memory, or lower the limit")
    for folder in (settings.workspace, settings.state):
        with suppress(OSError):
            free = free_disk(folder)
            if free < limits.spare_disk_mib * MIB:
                where = f"{free // MIB} MiB are free on the disk of {folder}"
                why = f"{where}, less than the {limits.spare_disk_mib} of `limits.spare_disk_mib`"
                return _refusal(why, "free some space (`!command` still runs your own commands), or lower the limit")
    return None


def _refusal(why: str, fix: str) -> RemitError:
    return RemitError("the turn was not started", why, fix, code=ErrorCode.LIMIT_REACHED)
