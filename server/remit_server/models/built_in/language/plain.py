"""Says a sentence in plain verbs and its wishes in their order, and finds the joints between them (MOD-23). Pure."""

from __future__ import annotations

import re

_GERUNDS = {
    "adding": "add", "appending": "append", "changing": "change", "committing": "commit", "creating": "create",
    "deleting": "delete", "finding": "find", "inserting": "insert", "listing": "list", "making": "make",
    "moving": "move", "opening": "open", "printing": "print", "putting": "put", "removing": "remove",
    "renaming": "rename", "replacing": "replace", "running": "run", "searching": "search", "setting": "set",
    "showing": "show",
}  # fmt: skip
_PAST = {
    "added": "add", "changed": "change", "created": "create", "deleted": "delete", "moved": "move", "removed": "remove",
    "renamed": "rename", "replaced": "replace",
}  # fmt: skip
_MIND = re.compile(r"(?:(?:would|do) you mind|mind|how about|what about) (\w+ing)\b(.*?)\??", re.IGNORECASE)
_AND_GERUND = re.compile(rf"\b(and|then|or|,) ({'|'.join(_GERUNDS)})\b", re.IGNORECASE)


def in_plain_verbs(text: str) -> str:
    """Returns "would you mind removing …" as "remove …"."""
    found = _MIND.fullmatch(text.strip())
    if found is None or (verb := _GERUNDS.get(found[1].lower())) is None:
        return text
    return f"{verb}{_AND_GERUND.sub(lambda more: f'{more[1]} {_GERUNDS[more[2].lower()]}', found[2])}"


_AFTER = re.compile(
    r"(?P<last>.+?),? (?:after|once) (?:you(?: have|'ve)? )?(?P<first>(?:VERBS)\b.+)|"
    r"(?:after|once) (?:you(?: have|'ve)? )?(?P<begins>(?:VERBS)\b.+?), ?(?:then )?(?P<ends>.+)".replace(
        "VERBS", "|".join((*_GERUNDS, *_GERUNDS.values(), *_PAST))
    ),
    re.IGNORECASE,
)


def in_order(text: str) -> str:
    """Returns "run the tests after you change …" with the wishes in the order in which they are to be done."""
    found = _AFTER.fullmatch(text.strip().rstrip("."))
    if found is None:
        return text
    verb, _, rest = (found["first"] or found["begins"]).partition(" ")
    plain = _GERUNDS.get(verb.lower()) or _PAST.get(verb.lower()) or verb
    return f"{plain} {rest}, then {found['last'] or found['ends']}"


_AND = (
    r"and|then|n|after that|afterwards|also|und|dann|danach|et|puis|ensuite|y|luego|despu[ée]s|e depois|depois|ed?|poi|"
    r"dopo"
)
JOINT = re.compile(
    rf" [&+] |[,;.]? +(?:(?:{_AND})\b,? *)+|[,;.] +|"
    r"(?:(?<=[てでし])、|。)(?:(?:それから|その後|次に)、?)?",
    re.IGNORECASE,
)
"""What may stand between two wishes."""
MOST_JOINTS = 12
"""The most joints to try. A sentence with more is no list of three wishes, and trying each would take seconds."""
