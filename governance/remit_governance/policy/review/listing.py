"""Lists what is in force. Pure.

It lists all rules, each with its match in one line, and marks those that can never take effect (POL-10). It also lists
what is known about programs, as JSON: their names, and all that the rows of one program say (CMD-08, CMD-10).

Whether one `match` covers another is told only as far as their text proves it; "no" means that it is not proved. A
missing key covers every value, and a value covers an equal one. A glob `**`, a plain folder (`src/**`) or a plain name
(`.env`) covers what lies below it, and a command covers commands that begin with its words.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from remit_governance.canonical import Json
from remit_governance.errors import Problem
from remit_governance.hosts import host_and_port
from remit_governance.policy.decision.builtin import BUILTIN, DENIED, READING
from remit_governance.policy.decision.risk import WEIGHTS, word_of
from remit_governance.policy.language.compile import Source, parse_policy
from remit_governance.policy.language.policy_form import MatchForm, RuleForm
from remit_governance.policy.language.rule_warnings import warnings_of
from remit_governance.policy.matching.command_match import command_prefix
from remit_governance.policy.matching.paths import fold
from remit_governance.policy.shell.catalogue.files import packaged, packaged_names
from remit_governance.policy.shell.catalogue.rows import EFFECTS, Entry, OwnRows, Program
from remit_governance.policy.shell.options import forms_of
from remit_governance.values import Verdict

_VERDICTS: Mapping[str, Verdict] = {verdict.word: verdict for verdict in Verdict}


@dataclass(frozen=True, slots=True)
class ListedRule:
    """One rule as a person reads it. `project` tells whether it came with the workspace, `dead` says why it can never
    do what it seems to do, and `shadowed_by` names a stricter rule that applies wherever this one does."""

    name: str
    layer: str
    action: str
    match: str
    file: str | None = None
    line: int | None = None
    project: bool = False
    dead: tuple[str, ...] = ()
    shadowed_by: str | None = None


@dataclass(frozen=True, slots=True)
class _Written:
    form: RuleForm
    source: Source
    line: int
    warnings: tuple[Problem, ...]


def list_rules(sources: Sequence[Source]) -> tuple[ListedRule, ...]:
    """Returns the built-in rules, then those of the files in their order. Raises PolicyError if a file is not a
    policy."""
    written = [rule for source in sources for rule in _written(source)]
    builtin = [ListedRule(rule.name, "builtin", rule.verdict.word, rule.reason) for rule in BUILTIN.rules]
    return (*builtin, *(_list_rule(rule, written) for rule in written))


def match_line(form: RuleForm) -> str:
    """Says in one line what a rule matches, such as `syscall fs.write, path_glob src/** or tests/**, except …`."""
    return f"{_describe(form.match)}{''.join(f', except {_describe(item)}' for item in form.except_)}"


def _describe(match: MatchForm) -> str:
    given = (f"{key} {' or '.join(values) or 'never'}" for key, values in match.given().items())
    return ", ".join(given) or "everything"


def _written(source: Source) -> Iterator[_Written]:
    document, form = parse_policy(source.file, source.text)
    warnings = tuple(warnings_of(document, form))
    for i, rule in enumerate(form.capabilities):
        own = tuple(w for w in warnings if w.message.startswith(f"`{rule.name}` "))
        yield _Written(rule, source, document.mark(("capabilities", i))[0], own)


def _list_rule(rule: _Written, others: Sequence[_Written]) -> ListedRule:
    return ListedRule(
        name=rule.form.name,
        layer="yaml",
        action=rule.form.action,
        match=match_line(rule.form),
        file=rule.source.file,
        line=rule.line,
        project=rule.source.project,
        dead=tuple(f"{warning.message}; {warning.fix}" for warning in rule.warnings),
        shadowed_by=_shadow(rule.form, others),
    )


def _shadow(form: RuleForm, others: Sequence[_Written]) -> str | None:
    if form.action in {"pass", "deny"}:
        return None
    builtin = _builtin_shadow(form)
    return builtin or next((other.form.name for other in others if _shadows(other, form)), None)


def _shadows(other: _Written, form: RuleForm) -> bool:
    """Tells whether the other rule is stricter and applies wherever this one does. A project's review does not count,
    because it has no effect without an allow."""
    stricter = _VERDICTS[other.form.action] > _VERDICTS[form.action]
    grants = other.form.action == "deny" or not other.source.project
    return stricter and grants and _excepts_less(other.form, form) and covers(other.form.match, form.match)


def _excepts_less(wide: RuleForm, narrow: RuleForm) -> bool:
    """Tells whether the wide rule excepts only what the narrow one excepts as well."""
    return all(any(mine.same(item) for mine in narrow.except_) for item in wide.except_)


def _builtin_shadow(form: RuleForm) -> str | None:
    """Returns the built-in rule that denies every write that this rule is about, or None."""
    syscalls, globs = form.match.syscall, form.match.path_glob
    if not syscalls or not globs or not all(s.startswith("fs.") and s not in READING for s in syscalls):
        return None
    return next((name for name, (_, refused) in DENIED.items() if folded_globs_cover(refused, globs)), None)


EVERYWHERE = "**"

_PLAIN = re.compile(r"[A-Za-z0-9_.-]+", re.ASCII)
_FOLDER = re.compile(r"((?:[A-Za-z0-9_.-]+/)+)\*\*", re.ASCII)


def covers(wide: MatchForm, narrow: MatchForm) -> bool:
    """Tells whether `wide`, the match of a rule that stops, provably matches every action that `narrow` matches."""
    asked, given = wide.given(), narrow.given()
    return all(key in given and _COVERS.get(key, _among)(values, given[key]) for key, values in asked.items())


def globs_cover(wide: Sequence[str], narrow: Sequence[str]) -> bool:
    """Tells whether the globs in `wide` provably match every path that those in `narrow` match; `!` excludes paths."""
    kept = {glob for glob in narrow if glob.startswith("!")}
    if any(glob.startswith("!") and glob not in kept for glob in wide):
        return False
    return all(any(_glob_covers(w, n) for w in _including(wide)) for n in _including(narrow))


def folded_globs_cover(wide: Sequence[str], narrow: Sequence[str]) -> bool:
    """Tells the same for globs that are matched folded, like those of the built-in rules."""
    return globs_cover([fold(glob) for glob in wide], [fold(glob) for glob in narrow])


def _among(wide: Sequence[str], narrow: Sequence[str]) -> bool:
    return set(narrow) <= set(wide)


def _hosts_cover(wide: Sequence[str], narrow: Sequence[str]) -> bool:
    """Tells whether a rule that stops the `wide` hosts stops the `narrow` ones; no port means every port."""
    known = set(map(host_and_port, wide))
    return all((name, port) in known or (name, None) in known for name, port in map(host_and_port, narrow))


def _including(globs: Sequence[str]) -> list[str]:
    return [glob for glob in globs if not glob.startswith("!")]


def _glob_covers(wide: str, narrow: str) -> bool:
    if wide in {EVERYWHERE, narrow}:
        return True
    parts = narrow.split("/")
    if _PLAIN.fullmatch(wide):
        return wide in parts
    folder = _FOLDER.fullmatch(wide)
    # `src/` alone means a folder of that name anywhere; with more after the slash the glob is anchored.
    return folder is not None and len(narrow) > len(folder[1]) and narrow.startswith(folder[1])


def _commands_cover(wide: Sequence[str], narrow: Sequence[str]) -> bool:
    prefixes = [command_prefix(command) for command in wide]
    return all(any(_prefix_covers(w, command_prefix(n)) for w in prefixes) for n in narrow)


def _prefix_covers(wide: tuple[str, ...], narrow: tuple[str, ...]) -> bool:
    # If a command is another name for a second command, its first words prove nothing about the second.
    return narrow[: len(wide)] == wide and (wide == narrow or len(forms_of(narrow)) == 1)


_COVERS = {"path_glob": globs_cover, "command": _commands_cover, "host": _hosts_cover}


def known_names(own: OwnRows) -> tuple[str, ...]:
    """Returns the names of the programs that have a row, sorted."""
    return tuple(sorted({*packaged_names(), *own.person, *own.project}))


def like(name: str, own: OwnRows) -> str | None:
    """Returns the known program with the most similar name, or None if none is similar."""
    return next(iter(difflib.get_close_matches(name, known_names(own), n=1)), None)


def describe_program(name: str, own: OwnRows) -> dict[str, Json]:
    """Returns `{name, rows}` with each row of a program: Remit's, the person's, the project's. There may be none."""
    rows: list[Json] = [{"from": source, **_describe_row(row)} for source, row in _rows(name, own)]
    return {"name": name, "rows": rows}


def _rows(name: str, own: OwnRows) -> Iterator[tuple[str, Program]]:
    found = (("remit", packaged(name)), ("person", own.person.get(name)), ("project", own.project.get(name)))
    yield from ((source, row) for source, row in found if row is not None)


def _describe_row(row: Program) -> dict[str, Json]:
    does: dict[str, Json] = {}
    for effect in EFFECTS:
        words = sorted(_words(entry) for entry in row.entries if entry.effect == effect)
        if words:
            does[effect] = {"risk": word_of(WEIGHTS[effect]), "words": list[Json](words)}
    said: dict[str, Json] = {
        "does": does,
        "otherwise": row.otherwise,
        "unlisted": row.unlisted,
        "reads_with_unlisted": "unknown" if row.strict and "reads" in does else None,
        "writes": list[Json](row.writes),
        "options": list[Json]((row.options or "").split()),
        "subcommands": [command.path for command in row.commands],
        "is": " ".join(row.other_name_of),
        "judge": row.judge,
        "refused": row.refused,
        "replaced_by": row.replaced_by,
        "wraps": None if row.wraps is None else [*sorted(row.wraps.valued), *sorted(row.wraps.plain)],
    }
    return {key: value for key, value in said.items() if value not in (None, "", [], {})}


def _words(entry: Entry) -> str:
    shown = (*entry.operands, *sorted(entry.options))
    return " ".join((*shown, "$") if entry.ends and not entry.options else shown)
