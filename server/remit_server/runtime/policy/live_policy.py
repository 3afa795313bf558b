"""Keeps policy and permissions in force while the server runs, and reloads them when their files change (POL-11).

Also adds one rule to the person's permission file, whole or not at all (APP-04).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from remit_governance.audit.record import AuditEvent, AuditKind
from remit_governance.audit.store import AuditLog
from remit_governance.errors import AuditError, PolicyError
from remit_governance.permissions.permissions import PermissionConfig, PermissionRule
from remit_governance.permissions.remembered import ListName, NoPlace, parse_permissions, rule_text, with_rule
from remit_governance.policy.language.load import read_source
from remit_governance.rulebook import Rulebook
from remit_server.contract import ErrorPayload
from remit_server.errors import RemitError, SetupError, os_reason
from remit_server.runtime.notice import Notice
from remit_server.runtime.own_files.own_file_writer import rewrite
from remit_server.runtime.policy.policies import InForce, holding_in, load_in_force, what_they_say
from remit_server.runtime.settings import Settings

log = logging.getLogger(__name__)

MAX_NAMES_CHARS = 2_000
"""Characters of the files' names in an audit record."""


@dataclass(slots=True)
class LivePolicy:
    """Policy and permissions of one server. `problem` says why the files on disk are not in force; `_said` is what they
    said when they were last loaded, so that only changed files are loaded again."""

    settings: Settings
    loaded: InForce
    rulebook: Rulebook
    audit: AuditLog
    problem: ErrorPayload | None = None
    _said: tuple[object, ...] | None = None
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @classmethod
    def start(cls, settings: Settings, loaded: InForce, audit: AuditLog) -> LivePolicy:
        """Returns the live policy of what was loaded."""
        return cls(settings, loaded, Rulebook(loaded.policy, loaded.permissions, here=loaded.here), audit)

    async def reload(self) -> Notice | None:
        """Put what the files say now in force, or keep the old if they cannot be used; None if nothing is new."""
        async with self._lock:
            said = await asyncio.to_thread(what_they_say, self.settings)
            if said is not None and said == self._said:
                return None
            self._said = said
            try:
                found = await asyncio.to_thread(load_in_force, self.settings)
            except SetupError as error:
                return self._failed(error)
            mended, self.problem = self.problem is not None, None
            if (found.policy.version, found.permissions) == (self.loaded.policy.version, self.rulebook.permissions):
                found.close()
                return Notice(True, "The policy files are valid again and in force") if mended else None
            return await self._put_in_force(found)

    async def keep(self, rule: PermissionRule, decision: Literal["allow", "deny"]) -> str | None:
        """Write a standing answer into the permission file, and put it in force; returns why not if that fails."""
        async with self._lock:
            try:
                permissions = await asyncio.to_thread(keep_rule, self.settings.person_permissions, decision, rule)
            except NotKept as error:
                return str(error)
            version = self.rulebook.policy.version
            self.rulebook.replace(self.rulebook.policy, holding_in(permissions, self.loaded.here))
            self._record(version, {"rule": rule_text(rule), "list": decision})
            return None

    def close(self) -> None:
        """End the processes that run for the policy."""
        self.loaded.close()

    async def _put_in_force(self, found: InForce) -> Notice:
        old, self.loaded = self.loaded, found
        revoked = self.rulebook.replace(found.policy, found.permissions)
        self.rulebook.here = found.here
        self._record(old.policy.version, {"revoked_tokens": str(revoked)})
        await asyncio.to_thread(old.close)
        warnings = "".join(f"; {warning}" for warning in found.policy.warnings)
        return Notice(True, f"The policy changed and is now in force: {', '.join(found.policy.files)}{warnings}")

    def _failed(self, error: RemitError) -> Notice | None:
        known, self.problem = self.problem, error.payload()
        if known == self.problem:
            return None
        why = f"The policy files on disk have a mistake; the previous policy stays in force: {error.why}; {error.fix}"
        return Notice(False, why)

    def _record(self, old_version: str, more: Mapping[str, str]) -> None:
        files = ", ".join((*self.loaded.policy.files, str(self.settings.person_permissions)))
        version = self.loaded.policy.version
        metadata = {"old": old_version, "new": version, "files": files[:MAX_NAMES_CHARS], **more}
        try:
            self.audit.write(AuditEvent(AuditKind.POLICY_UPDATE, policy_version=version, metadata=metadata))
        except AuditError as error:  # no call is carried out either, until the audit can be written again
            log.warning("the change of the policy could not be recorded: %s: %s", error.what, error.why)


class NotKept(Exception):
    """The rule was not written, and the file is as it was; the message says why, and what to do."""


def keep_rule(file: Path, name: ListName, rule: PermissionRule) -> PermissionConfig:
    """Write the rule at the end of the file's list `name`, and return what the file says then. Raises NotKept."""
    try:
        longer = rewrite(file, lambda text: with_rule(str(file), text, name, rule), lambda path: read_source(path).text)
    except PolicyError as error:
        raise NotKept(f"the file has a mistake: {error.why}; fix it, or add the rule by hand") from None
    except NoPlace as error:
        raise NotKept(f"`{file}` was left as it is, because {error}; add the rule by hand") from None
    except OSError as error:
        why = os_reason(error)
        raise NotKept(f"`{file}` cannot be written: {why}; make it writable, or add the rule elsewhere") from None
    return parse_permissions(str(file), longer)
