"""Adds one rule to the person's permission file, whole or not at all (APP-04)."""

from __future__ import annotations

from pathlib import Path

from remit_governance.errors import PolicyError
from remit_governance.permissions.permission_file import ListName, NoPlace, parse_permissions, with_rule
from remit_governance.permissions.permissions import PermissionConfig, PermissionRule
from remit_governance.policy.language.load import read_source
from remit_server.runtime.own_file_writer import rewrite


class NotKept(Exception):
    """The file is as it was; the message says why, and what to do."""


def keep_rule(file: Path, name: ListName, rule: PermissionRule) -> PermissionConfig:
    """Write the rule at the end of the file's list `name`, and return what the file says then. Raises NotKept."""
    try:
        longer = rewrite(file, lambda text: with_rule(str(file), text, name, rule), lambda path: read_source(path).text)
    except PolicyError as error:
        raise NotKept(f"the file has a mistake: {error.why}; fix it, or add the rule by hand") from None
    except NoPlace as error:
        raise NotKept(f"`{file}` was left as it is, because {error}; add the rule by hand") from None
    except OSError as error:
        why = (error.strerror or type(error).__name__).lower()
        raise NotKept(f"`{file}` cannot be written: {why}; make it writable, or add the rule elsewhere") from None
    return parse_permissions(str(file), longer)
