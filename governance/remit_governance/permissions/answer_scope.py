"""What an answer would remember: as a sentence for the session, as an exact rule for good
(APP-04)."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from remit_governance.canonical import digest_bytes
from remit_governance.permissions.permissions import (
    PermissionConfig,
    PermissionRule,
    Standing,
    StandingRule,
    decide,
    is_edit,
    permits_standing,
    standing_rule,
)
from remit_governance.permissions.workspace_identity import WorkspaceIdentity
from remit_governance.policy.matching.commands import is_script
from remit_governance.values import Action, Decision, strictest
from remit_governance.visible import visible

ApprovalScope = Literal["once", "session", "edits", "always", "everywhere"]

MAX_RULE = 1_000
"""Characters of a rule that a person is offered to write: a longer one is not read."""
MAX_COMMAND = 200
"""Characters of a command in a sentence. A longer one stands whole in the question, and is named by its digest."""

_VERBS = {"fs.read": "reading", "fs.list": "listing", "fs.write": "writing", "process.exec": "running"}
_PLAIN = re.compile(r"(?:[A-Za-z_/]|\.(?![0-9]))[A-Za-z0-9_./@%+=-]*", re.ASCII)
_RESERVED = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


@dataclass(frozen=True, slots=True)
class Offer:
    """The memory of an answer beyond `once`: these rules for the session, this one for good in this workspace.

    `edits` is whether the answer can be about every edit of the session.
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
        """The rule for good in every workspace: the same one, which names none."""
        if self.always is None:
            return None
        return self.always.model_copy(update={"workspace": None, "workspace_id": None})


def offer_for(
    judged: Iterable[tuple[Action, Decision]], config: PermissionConfig, here: WorkspaceIdentity | None
) -> Offer:
    """Makes the offer about actions of one call that a person is asked about.

    Nothing beyond `once` where a rule wants to be asked each time or an action has nothing exact to remember; `always`
    only where one rule says it all, can be read, where having it in the file would answer the question, and where the
    workspace has an id to bind it to; `edits` only for edits, where that would answer the question.
    """
    pairs = tuple(judged)
    rules = tuple(standing_rule(action) for action, _ in pairs)
    exact = tuple(rule for rule in rules if rule is not None)
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
"""What an answer about edits remembers, in words. What has to be asked about each time still is."""


def exact_rule(rules: tuple[StandingRule, ...]) -> PermissionRule | None:
    """One rule for exactly these: one tool on one path, or one argv in one folder; None where they differ in more."""
    first = rules[0]
    if len({(rule.tool, rule.path, rule.command, rule.cwd) for rule in rules}) > 1:
        return None
    return PermissionRule(
        tool=(first.tool,),
        syscall=tuple(dict.fromkeys(rule.syscall for rule in rules)),
        path=None if first.path is None else (first.path,),
        argv=first.command,
        cwd=first.cwd,
    )


def rule_text(rule: PermissionRule) -> str:
    """The rule as it stands in a file, on one line of YAML; nothing in it is hidden from whoever reads it."""
    given = ((name, getattr(rule, name)) for name in type(rule).model_fields)
    return f"{{{', '.join(f'{name}: {_value(name, value)}' for name, value in given if value is not None)}}}"


def sentence(rules: Iterable[StandingRule]) -> str:
    """Says in words what the rules are about: `writing src/a.py with write_file, any change`."""
    return "; ".join(_phrases(tuple(rules)))


def _phrases(rules: tuple[StandingRule, ...]) -> Iterator[str]:
    verbs: dict[tuple[str, str | None, tuple[str, ...] | None, str | None], list[str]] = {}
    for rule in rules:
        about = (rule.tool, rule.path, rule.command, rule.cwd)
        verbs.setdefault(about, []).append(_VERBS.get(rule.syscall, rule.syscall))
    for (tool, path, command, cwd), words in verbs.items():
        doing = " and ".join(dict.fromkeys(words))
        if command is not None:
            line = command[2] if is_script(command) and len(command) == 3 else shlex.join(command)
            place = "the workspace" if cwd in (None, ".") else f"`{visible(cwd or '', 'show')}`"
            yield f"{doing} {_quote_command(line)} in {place}, even if its files change"
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
    """A plain word as it is, anything else in double quotes; what would not be seen as its number."""
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
