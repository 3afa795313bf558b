"""The policy in force for a workspace: the person's file or the packaged default, tightened by the project's."""

from __future__ import annotations

import os

from remit_governance.errors import PolicyError
from remit_governance.policy.load import load_policy
from remit_governance.policy.rules import Policy
from remit_server.contract import ErrorCode
from remit_server.errors import SetupError
from remit_server.runtime.settings import Settings


def policy_in_force(settings: Settings) -> Policy:
    """Load it. Raises SetupError (`policy_invalid`) naming file, line and column: a broken policy allows nothing."""
    # A link that leads nowhere is not the same as no file: whoever made it wanted another policy than the default.
    person = settings.person_policy if os.path.lexists(settings.person_policy) else None
    project = settings.project_policy if os.path.lexists(settings.project_policy) else None
    try:
        return load_policy(person, project)
    except PolicyError as error:
        raise SetupError(error.what, error.why, error.fix, code=ErrorCode.POLICY_INVALID) from error
