"""The text of a permission file: read with the same care as a policy, and given one more rule
(governance.md §3 and §4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import yaml
from pydantic import BaseModel
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from remit_governance.errors import PolicyError
from remit_governance.permissions.answer_scope import rule_text
from remit_governance.permissions.permissions import Override, PermissionConfig, PermissionRule
from remit_governance.policy.language.parse_form import parse_form

ListName = Literal["allow", "deny"]

_FORMS: Mapping[str, type[BaseModel]] = {
    "final_deny": PermissionRule,
    "overrides": Override,
    "deny": PermissionRule,
    "allow": PermissionRule,
}


class NoPlace(Exception):
    """The text has no place where exactly this rule can be added; the message says why."""


def parse_permissions(file: str, text: str) -> PermissionConfig:
    """A permission file's content; an empty one is the default. Raises PolicyError with every problem found."""
    return parse_form(file, text, PermissionConfig, _FORMS)[1]


def with_rule(file: str, text: str, name: ListName, rule: PermissionRule) -> str:
    """The text with this rule at the end of its list `name`, and everything else in it untouched.

    Raises PolicyError where the text is no permission file, NoPlace where it cannot be told that the result says
    exactly this one rule more.
    """
    before = parse_permissions(file, text)
    rules: tuple[PermissionRule, ...] = getattr(before, name)
    if rule in rules:
        return text
    longer = _add_line(text, name, rule_text(rule))
    try:
        after = parse_permissions(file, longer)
    except PolicyError as error:
        raise NoPlace(f"its list `{name}` cannot be added to: {error.why}") from None
    if after != before.model_copy(update={name: (*rules, rule)}):
        raise NoPlace(f"adding to its list `{name}` would change more than that list")
    return longer


def _add_line(text: str, name: ListName, line: str) -> str:
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if root is None or (isinstance(root, ScalarNode) and not root.value):
        return f"{_end_with_newline(text)}{name}:\n  - {line}\n"
    if not isinstance(root, MappingNode) or root.flow_style:
        raise NoPlace("it is written as JSON")
    found = next((value for key, value in root.value if key.value == name), None)
    if found is None:
        margin = " " * root.start_mark.column
        return f"{_end_with_newline(text)}{margin}{name}:\n{margin}  - {line}\n"
    if not isinstance(found, SequenceNode):
        raise NoPlace(f"its `{name}` is no list")
    if found.flow_style:
        end = found.end_mark.index - 1
        return f"{text[:end]}{', ' if found.value else ''}{line}{text[end:]}"
    margin = " " * found.start_mark.column
    end = text.find("\n", _end(found))
    if end < 0:
        return f"{_end_with_newline(text)}{margin}- {line}\n"
    return f"{text[: end + 1]}{margin}- {line}\n{text[end + 1 :]}"


def _end(node: Node) -> int:
    """Finds where the text of a node ends: a block's own end mark stands behind the comments after it."""
    if isinstance(node, SequenceNode) and not node.flow_style and node.value:
        return _end(node.value[-1])
    if isinstance(node, MappingNode) and not node.flow_style and node.value:
        return _end(node.value[-1][1])
    return int(node.end_mark.index)


def _end_with_newline(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"
