"""Merges changes that can be taken back: what the files hold is kept before they change (SES-05)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from remit_governance.rulebook import Rulebook
from remit_governance.values import Action
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.harness.ports import KeptHistory
from remit_server.harness.turn import Turn
from remit_server.harness.writes.agent_trace import AgentTrace
from remit_server.harness.writes.merger import Merger
from remit_server.tools.spec import WritePlan


@dataclass(frozen=True, slots=True)
class MergeKept:
    """Where the changes of one call go, and the history that they can be taken back by."""

    merger: Merger
    history: KeptHistory
    call_id: str
    label: str
    trace: AgentTrace

    @classmethod
    def of_call(
        cls, merger: Merger, turn: Turn, call_id: str, tool: str, *, actions: Sequence[Action], rulebook: Rulebook
    ) -> MergeKept:
        """Returns where the changes of a call of this tool go, traced where the project names work items."""
        folder = None if rulebook.policy.work_items is None else merger.workspace.root
        trace = AgentTrace(folder, turn, call_id, tool, tuple(actions))
        return cls(merger, turn.history, call_id, f"Remit: {tool}", trace)

    async def merge(self, plan: WritePlan, changed: list[str], policy_version: str) -> None:
        """Keeps what the files hold, then merges, as `Merger.merge` does.

        Each range that changed is traced (INT-11); where that cannot be done, the person is told.

        Raises ToolError also where it cannot be kept; nothing is changed then.
        """
        try:
            change = await self.history.keep(self.call_id, plan.changes, plan.undoes)
        except OSError as error:
            why = f"what the files hold cannot be kept for undo: {(error.strerror or str(error)).lower()}"
            fix = "free some space and try again"
            raise ToolError("nothing was changed", why, fix, code=ErrorCode.LIMIT_REACHED) from error
        try:
            await self.merger.merge(plan.changes, self.label, changed, policy_version)
        except BaseException:
            left = [each.path.relative for each in plan.changes if each.path.relative not in changed]
            self.history.keep_left(change, left)
            raise
        finally:
            for each in plan.changes:
                if each.path.relative in changed:
                    self.trace.turn.changes.note(each)
            problem = await asyncio.to_thread(self.trace.append, plan.changes, tuple(changed))
            if problem is not None:
                self.trace.turn.warn(problem)
