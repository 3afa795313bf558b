"""What an answer would remember: as a sentence for the session, as an exact permanent rule, and as that rule's line in
the text of a permission file, which is checked as strictly as a policy (APP-04).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import yaml
from pydantic import BaseModel
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from remit_governance.canonical import digest_bytes
from remit_governance.errors import PolicyError
from remit_governance.permissions.permissions import (
    ANY_ARGUMENTS,
    Override,
    PermissionConfig,
    PermissionRule,
    Standing,
    StandingRule,
    WorkspaceIdentity,
    decide,
    is_edit,
    permits_standing,
    standing_rule,
)
from remit_governance.policy.language.parse_form import parse_form
from remit_governance.policy.matching.command_match import is_script
from remit_governance.values import Action, Decision, strictest
from remit_governance.visible import visible

ApprovalScope = Literal["once", "session", "edits", "always", "everywhere"]

MAX_RULE = 1_000
"""The most characters of a rule that a person is offered to write, because nobody would read a longer one."""
MAX_COMMAND = 200
"""The most characters of a command in a sentence. A longer command is named by its digest; the question shows it
whole."""

_VERBS = {
    "fs.read": "reading",
    "fs.list": "listing",
    "fs.write": "writing",
    "process.exec": "running",
    "net.connect": "reaching",
}
_PLAIN = re.compile(r"(?:[A-Za-z_/]|\.(?![0-9]))[A-Za-z0-9_./@%+=-]*", re.ASCII)
_RESERVED = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


@dataclass(frozen=True, slots=True)
class Offer:
    """What an answer beyond `once` would remember: the rules for the session, and the permanent one for this workspace.

    `edits` tells whether the answer can be about every edit of the session.
    """

    standing: tuple[StandingRule, ...] = ()
    always: PermissionRule | None = None
    edits: bool = False

    @property
    def scopes(self) -> tuple[ApprovalScope, ...]:
        """The scopes a question may offer."""
        if not self.standing:
            return ("once",)
        edits: tuple[ApprovalScope, ...] = ("edits",) if self.edits else ()
        for_good: tuple[ApprovalScope, ...] = () if self.always is None else ("always", "everywhere")
        return ("once", "session", *edits, *for_good)

    @property
    def everywhere(self) -> PermissionRule | None:
        """The permanent rule for every workspace: the same rule without the name of a workspace."""
        if self.always is None:
            return None
        return self.always.model_copy(update={"workspace": None, "workspace_id": None})


def offer_for(
    judged: Iterable[tuple[Action, Decision]], config: PermissionConfig, here: WorkspaceIdentity | None
) -> Offer:
    """Returns the offer for the actions of one call that a person is asked about.

    Only `once` is offered if a rule asks for a review each time, or if an action has nothing exact to remember. The
    same holds if a command is to reach a host, because an answer about the host would also be about other commands
    (APP-18). `always` is offered only if one rule covers all actions, is short enough to read, would answer the
    question from the file, and if the workspace has an id to bind the rule to. `edits` is offered only for edits, if
    that answer would answer the question.
    """
    pairs = tuple(judged)
    rules = tuple(standing_rule(action) for action, _ in pairs)
    exact = tuple(rule for rule in rules if rule is not None)
    if len({rule.host is None for rule in exact}) > 1:
        return Offer()
    if len(exact) < len(rules) or not permits_standing(strictest(decision for _, decision in pairs)):
        return Offer()
    always = None if here is None or here.id is None else exact_rule(exact)
    if always is not None and here is not None:
        always = always.model_copy(update={"workspace": here.path, "workspace_id": here.id})
    if always is not None and len(rule_text(always)) > MAX_RULE:
        always = None
    if always is not None:
        with_it = config.model_copy(update={"allow": (*config.allow, always)})
        if any(decide(with_it, Standing(), *pair).word != "allow" for pair in pairs):
            always = None
    edits = Standing(edits=True)
    return Offer(
        exact, always, all(is_edit(pair[0]) and decide(config, edits, *pair).word == "allow" for pair in pairs)
    )


EVERY_EDIT = "every file change in this workspace, until this session ends or you type `/edits each`"
"""What an answer about edits remembers, in words. A review that a rule asks for each time is still asked."""


def exact_rule(rules: tuple[StandingRule, ...]) -> PermissionRule | None:
    """Returns one rule for exactly these rules, or None if they differ in more than their syscalls. The rule is about
    one tool on one path, to one host, or with one argv in one folder."""
    first = rules[0]
    if len({replace(rule, syscall="") for rule in rules}) > 1:
        return None
    return PermissionRule(
        tool=(first.tool,),
        syscall=tuple(dict.fromkeys(rule.syscall for rule in rules)),
        path=None if first.path is None else (first.path,),
        argv=first.command,
        cwd=first.cwd,
        host=None if first.host is None else (first.host,),
    )


def rule_text(rule: PermissionRule) -> str:
    """Returns the rule as one line of YAML for a file, with hidden characters spelled out."""
    given = ((name, getattr(rule, name)) for name in type(rule).model_fields)
    return f"{{{', '.join(f'{name}: {_value(name, value)}' for name, value in given if value is not None)}}}"


def sentence(rules: Iterable[StandingRule]) -> str:
    """Says in words what the rules are about, such as `writing src/a.py with write_file, any change`."""
    return "; ".join(_phrases(tuple(rules)))


def _phrases(rules: tuple[StandingRule, ...]) -> Iterator[str]:
    verbs: dict[StandingRule, list[str]] = {}
    for rule in rules:
        verbs.setdefault(replace(rule, syscall=""), []).append(_VERBS.get(rule.syscall, rule.syscall))
    for about, words in verbs.items():
        tool, path, command, cwd = about.tool, about.path, about.command, about.cwd
        doing = " and ".join(dict.fromkeys(words))
        if command is not None and command[-1] == ANY_ARGUMENTS:
            yield f"calling `{visible(tool, 'show')}`, whatever its arguments, in this and any later version of it"
        elif command is not None:
            line = command[2] if is_script(command) and len(command) == 3 else shlex.join(command)
            place = "the workspace" if cwd in (None, ".") else f"`{visible(cwd or '', 'show')}`"
            yield f"{doing} {_quote_command(line)} in {place}, even if its files change"
        elif about.host is not None:
            yield f"{doing} `{visible(about.host, 'show')}` with {visible(tool, 'show')}, whatever is asked of it"
        else:
            change = ", any change" if "writing" in words else ""
            yield f"{doing} `{visible(path or '', 'show')}` with {visible(tool, 'show')}{change}"


def _quote_command(command: str) -> str:
    if len(command) <= MAX_COMMAND and "\n" not in command:
        return f"`{visible(command, 'show')}`"
    return f"exactly this command ({len(command):,} characters, {digest_bytes(command.encode(errors='replace'))[:19]})"


def _value(name: str, value: str | tuple[str, ...]) -> str:
    if isinstance(value, str):
        return _word(value)
    if len(value) == 1 and name != "argv":
        return _word(value[0])
    return f"[{', '.join(map(_word, value))}]"


def _word(text: str) -> str:
    """Returns a plain word as it is and any other text in double quotes, with hidden characters as escapes."""
    if _PLAIN.fullmatch(text) and text.lower() not in _RESERVED:
        return text
    return f'"{"".join(map(_shown, text))}"'


def _shown(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if visible(character, "show") == character:
        return character
    number = ord(character)
    return f"\\U{number:08X}" if number > 0xFFFF else f"\\u{number:04X}"


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
    """Returns a permission file's content, or the default if the file is empty. Raises PolicyError with every problem
    found."""
    document, config = parse_form(file, text, PermissionConfig, _FORMS)
    placed: dict[str, object] = {}
    for name in _FORMS:
        rules: tuple[PermissionRule, ...] = getattr(config, name)
        placed[name] = tuple(rule.written_at(file, document.mark((name, i))[0]) for i, rule in enumerate(rules))
    return config.model_copy(update=placed)


def with_rule(file: str, text: str, name: ListName, rule: PermissionRule) -> str:
    """Returns the text with this rule at the end of its list `name`, and everything else in it untouched.

    Raises PolicyError if the text is not a permission file, and NoPlace if the result would not contain exactly this
    one more rule.
    """
    before = parse_permissions(file, text)
    rules: tuple[PermissionRule, ...] = getattr(before, name)
    if rule in rules:
        return text
    longer = _add_line(text, name, rule_text(rule))
    try:
        after = parse_permissions(file, longer)
    except PolicyError as error:
        raise NoPlace(f"nothing can be added to its list `{name}`: {error.why}") from None
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
        raise NoPlace(f"its `{name}` is not a list")
    if found.flow_style:
        end = found.end_mark.index - 1
        return f"{text[:end]}{', ' if found.value else ''}{line}{text[end:]}"
    margin = " " * found.start_mark.column
    end = text.find("\n", _end(found))
    if end < 0:
        return f"{_end_with_newline(text)}{margin}- {line}\n"
    return f"{text[: end + 1]}{margin}- {line}\n{text[end + 1 :]}"


def _end(node: Node) -> int:
    """Returns where the text of a node ends. The end mark of a block cannot be used, because it stands after the
    comments that follow the block."""
    if isinstance(node, SequenceNode) and not node.flow_style and node.value:
        return _end(node.value[-1])
    if isinstance(node, MappingNode) and not node.flow_style and node.value:
        return _end(node.value[-1][1])
    return int(node.end_mark.index)


def _end_with_newline(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"
