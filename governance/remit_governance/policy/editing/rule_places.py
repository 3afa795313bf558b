"""Where a rule stands in a policy text: what leads from a denial to its rule (protocol.md §3, Standard)."""

from __future__ import annotations

from remit_governance.policy.editing.outline import outline
from remit_governance.policy.editing.spans import Span, YamlLines


def rule_span(text: str, name: str) -> Span | None:
    """The name of the rule with this name; None where the text has none."""
    for token in outline(text).tokens:
        match token.place:
            case ("capabilities", int(), "name") if token.role != "key" and token.text == name:
                return token.span
            case _:
                pass
    return None


def line_span(text: str, line: int) -> Span:
    """Finds what stands in a line, counted from 1 as reasons count; beyond the last one, that one."""
    return YamlLines(text).span(line)
