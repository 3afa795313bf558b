"""Actions as the command line, the editor and policy examples write them (POL-05), and the check of rules against such
examples (POL-06).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StrictBool, ValidationError

from remit_governance.canonical import Json
from remit_governance.capabilities import DEFAULT_MAX_OPS, DEFAULT_TTL_S, Claim, Holder, Token, scope_of
from remit_governance.errors import ActionError, Problem
from remit_governance.policy.language.document import Document, Place
from remit_governance.policy.language.policy_form import RuleForm
from remit_governance.policy.matching.command_match import command_words
from remit_governance.policy.rules import Policy, Rule, Subject
from remit_governance.values import SYSCALLS, Action, Intent, SandboxName


class TokenForm(BaseModel):
    """A hypothetical capability token, in JSON: for exactly this action, unless `path` names another path.

    `age_s` is the seconds since it was minted, `ttl_s` the seconds for which it lasts; `used` and `max_ops` are numbers
    of uses. `holder` was given the token, `shown_by` shows it; both are `[sandbox id, process id]`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str | None = None
    age_s: Annotated[float, Field(ge=0)] = 0.0
    ttl_s: Annotated[float, Field(gt=0)] = DEFAULT_TTL_S
    used: Annotated[int, Field(ge=0)] = 0
    max_ops: Annotated[int, Field(gt=0)] = DEFAULT_MAX_OPS
    holder: tuple[str, int] = ("sandbox", 1)
    shown_by: tuple[str, int] | None = None

    def claim(self, action: Action, policy: Policy) -> Claim:
        """Returns the claim of the holder that shows this token under this policy."""
        covered = action if self.path is None else replace(action, path=self.path)
        token = Token(
            nonce=1,
            holder=Holder(*self.holder),
            scope=frozenset({scope_of(covered)}),
            most_bytes=action.size or 0,
            max_ops=self.max_ops,
            expires=self.ttl_s,
            policy_version=policy.version,
        )
        return Claim(token, self.max_ops - self.used, Holder(*(self.shown_by or self.holder)), self.age_s)


class ActionForm(BaseModel):
    """One action in JSON. `command` is a list of words, or a command line, which is judged part by part."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    syscall: Annotated[str, Field(min_length=1)]
    path: str | None = None
    caller_tags: tuple[str, ...] = ()
    state: str | None = None
    mode: str | None = None
    intent: Intent | None = None
    tool: str | None = None
    command: tuple[str, ...] | str | None = None
    cwd: str | None = None
    host: str | None = None
    size: Annotated[int, Field(ge=0, strict=True)] | None = None
    held: StrictBool = False
    repository: StrictBool = False
    history: StrictBool = False
    also: tuple[tuple[str, ...], ...] = ()
    work_item: str | None = None
    sandbox: SandboxName | Literal["none"] | None = None
    permit: StrictBool = True
    doubts: tuple[str, ...] = ()
    within: tuple[tuple[str, ...], ...] = ()
    reaches: tuple[str, ...] | None = None

    def action(self) -> Action:
        """Returns the action as a value."""
        return Action(
            syscall=self.syscall,
            path=self.path,
            tool=self.tool,
            intent=self.intent,
            command=command_words(self.command) if isinstance(self.command, str) else self.command,
            host=self.host,
            size=self.size,
            caller_tags=frozenset(self.caller_tags),
            state=self.state,
            mode=self.mode,
            cwd=self.cwd,
            script=self.command if isinstance(self.command, str) else None,
            held=self.held,
            repository=self.repository,
            history=self.history,
            also=self.also,
            work_item=self.work_item,
            sandbox=_usual_sandbox(self.syscall)
            if self.sandbox is None
            else None
            if self.sandbox == "none"
            else self.sandbox,
            permit=self.permit,
            doubts=self.doubts,
            within=frozenset(self.within),
            reaches=None if self.reaches is None else frozenset(self.reaches),
        )


def _usual_sandbox(syscall: str) -> SandboxName | None:
    """Returns the sandbox in which actions with this syscall are carried out, unless the action names another."""
    return "code-executor" if syscall in {"process.exec", "net.connect"} else None


class AskedForm(ActionForm):
    """An action to be explained, with a hypothetical token."""

    token: TokenForm | None = None


Form = TypeVar("Form", bound=ActionForm)


def parse_action(value: object) -> Action:
    """Returns the action that a JSON value (an object, already decoded) describes. Raises ActionError naming the
    field."""
    return _validate(ActionForm, value).action()


def parse_question(value: object, policy: Policy) -> tuple[Action, Claim | None]:
    """Returns the action that a JSON value describes, and the claim of its `token` under this policy. Raises
    ActionError, also for a misspelt syscall that no rule names; other unknown syscalls are judged."""
    form = _validate(AskedForm, value)
    near = () if form.syscall in SYSCALLS else difflib.get_close_matches(form.syscall, SYSCALLS, n=1, cutoff=0.75)
    if near and not _is_named(form.syscall, policy):
        why = f"no action has the syscall `{form.syscall}`"
        raise ActionError("the action cannot be judged", why, f"did you mean `{near[0]}`")
    action = form.action()
    return action, None if form.token is None else form.token.claim(action, policy)


def _is_named(syscall: str, policy: Policy) -> bool:
    return any(syscall in (rule.syscalls or ()) for layer in policy.layers for rule in layer.rules)


def form_of(action: Action) -> dict[str, Json]:
    """Returns the action as `parse_action` reads it back; fields with their usual value are left out."""
    form: dict[str, Json] = {"syscall": action.syscall}
    if action.path is not None:
        form["path"] = action.path
    if action.script is not None:
        form["command"] = action.script
    elif action.command is not None:
        form["command"] = action.command
    if action.caller_tags:
        form["caller_tags"] = sorted(action.caller_tags)
    others: dict[str, Json] = {
        "tool": action.tool,
        "intent": action.intent,
        "cwd": action.cwd,
        "host": action.host,
        "size": action.size,
        "state": action.state,
        "mode": action.mode,
        "held": action.held or None,
        "repository": action.repository or None,
        "history": action.history or None,
        "also": [list(argv) for argv in action.also] or None,
        "work_item": action.work_item,
        "sandbox": None if action.sandbox == _usual_sandbox(action.syscall) else action.sandbox or "none",
        "permit": None if action.permit else False,
        "doubts": list(action.doubts) or None,
        "within": [list(globs) for globs in sorted(action.within)] or None,
        "reaches": None if action.reaches is None else sorted(action.reaches),
    }
    return form | {name: value for name, value in others.items() if value is not None}


def _validate(form: type[Form], value: object) -> Form:
    try:
        return form.model_validate(value)
    except ValidationError as error:
        # Report a misspelt key first, because it also explains a key that is missing.
        first = min(error.errors(), key=lambda each: each["type"] != "extra_forbidden")
        name = ".".join(str(part) for part in first["loc"]) or "it"
        what, keys = "the action cannot be judged", " ".join(form.model_fields)
        if first["type"] == "extra_forbidden":
            near = difflib.get_close_matches(str(first["loc"][-1]), form.model_fields, n=1)
            fix = f"did you mean `{near[0]}`" if near else f"use {keys}"
            raise ActionError(what, f"unknown key `{name}`", fix) from None
        raise ActionError(what, f"`{name}`: {first['msg'].lower()}", f"an action has the keys {keys}") from None


def example_faults(form: RuleForm, rule: Rule, document: Document, place: Place) -> Iterator[Problem]:
    """Yields one problem for each example that is not an action, or that the rule takes otherwise than the example
    says; `place` is the rule's place."""
    syscalls = form.match.syscall or ()
    for key, wanted in (("match", True), ("not_match", False)):
        examples = form.examples.match if wanted else form.examples.not_match
        for i, example in enumerate(examples):
            at: Place = (*place, "examples", key, i)
            given = example if "syscall" in example or not syscalls else {"syscall": syscalls[0], **example}
            try:
                subject = Subject.of(parse_action(given))
            except ActionError as error:
                yield document.problem(at, f"the example of `{form.name}` is not an action: {error.why}", error.fix)
                continue
            if _applies(rule, subject) is not wanted:
                problem = "does not match" if wanted else "matches"
                yield document.problem(at, f"`{form.name}` {problem} this example", "correct the rule or the example")


def _applies(rule: Rule, subject: Subject) -> bool:
    named = rule.syscalls is None or subject.action.syscall in rule.syscalls
    return named and rule.applies(subject)
