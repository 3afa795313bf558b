"""Stage 3: what the session's workflow has no use for now (FLW-03). What may be written is policy's to say."""

from __future__ import annotations

from remit_governance.workflow.position import describe
from remit_governance.workflow.states import Mode, State
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.harness.context import CallContext
from remit_server.harness.stages.gate import opened_tools
from remit_server.harness.stages.parse import ParsedCall


def check_state(parsed: ParsedCall, ctx: CallContext) -> ParsedCall:
    """Returns the call where the state has a use for its tool. Raises ToolError (`tool_unavailable`)."""
    position, name, part = ctx.turn.memory.position, parsed.tool.name, parsed.tool.workflow
    if part is None or not part.only_in:
        return parsed
    exempt = {State.EXPLORING} if part.gives_up and position.is_exempt else set[State]()
    states = part.only_in | exempt
    if {position.state, ctx.turn.place_for("fs.write", name).state} & states:
        return parsed
    intent = ctx.turn.intent.active
    usable = [tool for tool in (opened_tools(intent, ctx.turn, ctx.parts) if intent else ()) if tool != name]
    reason = f"the workflow is in state `{position.state}`, and `{name}` is of use in {' and '.join(sorted(states))}"
    fix = describe(position) if position.mode is Mode.STRICT else "go on without it"
    error = ToolError(f"`{name}` cannot be used now", reason, fix, code=ErrorCode.TOOL_UNAVAILABLE)
    error.data = {
        "error": error.code.value,
        "tool_name": name,
        "current_state": position.state.value,
        "reason": reason,
        "available_tools": list(usable),
    }
    raise error
