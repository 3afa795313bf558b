"""What may stand at each place of a file, read from the pydantic forms that check it, and what it means in words
(POL-14). The file is a policy, unless another form is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from types import MappingProxyType
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from remit_governance.policy.language.action_form import ActionForm
from remit_governance.policy.language.document import Place
from remit_governance.policy.language.policy_form import (
    SIZES,
    ConstraintsForm,
    ExamplesForm,
    PolicyForm,
    RedactForm,
    RuleForm,
)
from remit_governance.values import CALLER_TAGS, SYSCALLS


@dataclass(frozen=True, slots=True)
class Slot:
    """What may stand at one place: a mapping (`form`), or one of some `words`; with `many`, a list of these.

    A place that takes any word has neither.
    """

    form: type[BaseModel] | None = None
    words: tuple[str, ...] = ()
    many: bool = False


WHOLE = Slot(PolicyForm)


def slot_at(place: Place, whole: Slot = WHOLE) -> Slot | None:
    """Finds the slot of a place in a file whose slot is `whole`; None for a place that the forms do not know."""
    slot = whole
    for part in place:
        if isinstance(part, int):
            if not slot.many:
                return None
            slot = replace(slot, many=False)
            continue
        field = fields_of(slot.form).get(part) if slot.form is not None and not slot.many else None
        if field is None:
            return None
        slot = _slot_of(field.annotation)
    return slot


def fields_of(form: type[BaseModel]) -> Mapping[str, FieldInfo]:
    """Returns the fields of a form by the key that a file spells them with."""
    return {field.alias or name: field for name, field in form.model_fields.items()}


def _slot_of(annotation: Any) -> Slot:
    leaves = list(_leaves(annotation, many=False))
    forms = [leaf for leaf, _ in leaves if isinstance(leaf, type) and issubclass(leaf, BaseModel)]
    # Only examples are mappings without a form of their own, and each example is an action.
    form = forms[0] if forms else ActionForm if any(get_origin(leaf) is dict for leaf, _ in leaves) else None
    words = tuple(word for leaf, _ in leaves for word in _words(leaf))
    return Slot(form, words, any(many for _, many in leaves))


def _leaves(annotation: Any, many: bool) -> Iterator[tuple[Any, bool]]:
    """Yields the types that an annotation is made of, each with whether it stands in a tuple."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is None or origin is Literal or origin is dict:
        yield annotation, many
        return
    if hasattr(annotation, "__metadata__"):
        arguments = arguments[:1]
    for argument in arguments:
        if argument not in (type(None), Ellipsis):
            yield from _leaves(argument, many or origin is tuple)


def _words(leaf: Any) -> Iterator[str]:
    if get_origin(leaf) is Literal:
        yield from map(str, get_args(leaf))
    elif isinstance(leaf, type) and issubclass(leaf, Enum):
        yield from (str(member.value) for member in leaf)
    elif leaf is bool:
        yield from ("true", "false")


KEYS: Mapping[type[BaseModel], Mapping[str, str]] = MappingProxyType(
    {
        PolicyForm: {
            "version": "The format of the file; there is only 1.",
            "capabilities": "The rules. Their order means nothing, and what no rule allows is denied.",
            "tdd_exemptions": "Which files need no failing test first, by the category that an exemption is asked for.",
            "tdd_tests": "Which files are tests besides the usual ones, and (`except`) none. A project can lock more.",
            "intents": "Which tools each intent opens. A project's file can only leave some out.",
            "redact": "What your own secrets look like. Nothing of them is shown to a model, to a client or in a log.",
        },
        RedactForm: {
            "name": "What it is: `[redacted NAME]` stands where it was.",
            "pattern": "A regular expression as RE2 has it: without look-around, and never slow.",
        },
        RuleForm: {
            "name": "The rule's own name: letters, digits, `.`, `_`, `-`. It is shown wherever the rule decides.",
            "match": "When the rule applies: every key given has to hold, by any of its values. `{}` always holds.",
            "action": "What the rule says: deny is final, a review beats an allow, and pass says nothing.",
            "reason": "Shown to you, and to the model where it is a deny; at most 500 characters.",
            "except": "Conditions like `match`; where one of them holds, the rule does not apply.",
            "constraints": "What an allow demands besides its match.",
            "examples": "Actions the rule has to match and not to match, checked when the file is loaded.",
            "standing_answer": "`false`: you are asked each time, and cannot be answered for a whole session.",
        },
        ConstraintsForm: {
            "max_file_size": "The rule does not allow a write after which the file is larger.",
            "require_sandbox": "The rule allows only what runs in a sandbox: `L2` for any, else the template's name.",
            "require_capability_token": "The rule allows only what runs under a token that was minted for exactly it, "
            "not what a call meets by the way, such as the files of a search.",
        },
        ExamplesForm: {
            "match": "Actions that the rule has to match. A missing `syscall` is the rule's first.",
            "not_match": "Actions that the rule must not match. A missing `syscall` is the rule's first.",
        },
        ActionForm: {
            "syscall": "What is about to be done, such as `fs.write`.",
            "path": "The path, relative to the workspace, with `/`.",
            "sandbox": "The sandbox it is done in, by its template; `none` where the server does it itself.",
            "permit": "Whether it is done under a token that was minted for exactly it.",
            "doubts": "What whoever made the action is not certain of: a person looks.",
            "caller_tags": "Who calls, by all of its tags.",
            "state": "The workflow state; none where it is not given.",
            "mode": "The session's mode; none where it is not given.",
            "intent": "The intent that the step has declared.",
            "tool": "The tool's name.",
            "command": "The command, as one line or as a list of words.",
            "cwd": "The folder the command would run in, relative to the workspace.",
            "host": "The network host.",
            "size": "How many bytes the file would have afterwards.",
            "held": "Whether what the command line writes is judged by itself afterwards; its review may wait.",
            "repository": "Whether a write is one of git's own files in a folder that is, or becomes, a repository.",
            "history": "Whether git's history holds files that policy keeps unread.",
            "also": "Other command lines by which the command is known: a rule that denies one of them denies it.",
            "work_item": "The work item that the step named, whose scope then holds.",
            "within": "Lists of globs: a sub-agent was left the paths that match one of each.",
            "reaches": "The hosts that a sub-agent was left.",
        },
    }
)
"""Form → key → what it means. A test checks that every key of every form is here or has a description of its own."""

_STATES = {
    "idle": "nothing is under way",
    "planning": "the work is being planned",
    "test_writing": "tests are being written",
    "code_writing": "code is being written against them",
    "validating": "the tests are being run",
    "reviewing": "the change is being looked at",
    "committing": "the change is being committed",
    "exploring": "code is being tried out, without tests first",
    "retroactive_testing": "tests are being written for what was explored",
}
_MODES = {
    "strict": "tests come first",
    "explore": "code may come first, within a budget",
    "debug": "as in explore, and the state is shown",
}
_INTENTS = {
    "PLAN": "planning",
    "CODE": "changing files",
    "ANALYZE": "looking around, to understand",
    "DEBUG": "looking around, to find a fault",
    "WRITE_FILE": "writing a whole file",
    "READ_FILE": "reading a file",
    "EXECUTE": "running commands and tests",
}
_RISKS = {
    "low": "reading what is not sensitive: also `ls`, `git status`",
    "medium": "writing, reading what is sensitive, tests, commands that change files",
    "high": "writing what is sensitive, what cannot be undone, unknown commands, the network",
}
_ACTIONS = {
    "allow": "the rule allows, unless another one denies or asks",
    "deny": "final: no other rule and no answer lifts it",
    "pass": "the rule says nothing",
    "require_review": "you are asked first",
}

WORDS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "syscall": SYSCALLS,
        "caller_tag": CALLER_TAGS,
        "caller_tags": CALLER_TAGS,
        "state": _STATES,
        "mode": _MODES,
        "intent": _INTENTS,
        "risk": _RISKS,
        "action": _ACTIONS,
    }
)
"""Key → word → what it means. The forms say which words are accepted; these are the words with a meaning."""

UNITS: Mapping[str, int] = MappingProxyType(SIZES)
"""The units of a size, in bytes."""


def meaning(form: type[BaseModel] | None, key: str) -> str | None:
    """Says what a key of a form means, or returns None. For a form that is not in `KEYS`, that is the field's
    description, or the docstring of the form below the key."""
    if form is None or form in KEYS:
        return KEYS.get(form, {}).get(key) if form is not None else None
    field = form.model_fields.get(key)
    if field is None or field.description is not None:
        return None if field is None else field.description
    below = (kind for kind in (field.annotation, *get_args(field.annotation)) if isinstance(kind, type))
    return next((kind.__doc__ for kind in below if issubclass(kind, BaseModel)), None)


def known_words(key: str, tools: Mapping[str, str]) -> Mapping[str, str]:
    """Returns the words with a meaning among a key's values; `tools` are the existing tools with what each does."""
    return tools if key == "tool" else WORDS.get(key, {})
