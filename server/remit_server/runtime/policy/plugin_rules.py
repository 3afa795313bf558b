"""Rules that plugins bring: each runs in a process of its own, and can only tighten (PLG-09)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from remit_governance.canonical import Json
from remit_governance.errors import ExtensionError, PolicyError, Problem
from remit_governance.policy.decision.extension import ExtensionRule, Facts, read_rule
from remit_server.errors import SetupError
from remit_server.extensions.host import ExtensionHost
from remit_server.runtime.own_files.plugins import Found, look_at, places
from remit_server.tools.plugins.record import FOLDER, RECORD, Life, read_record

_NO_ALLOW = "a rule of a plugin can deny, ask and pass; it cannot allow"


def load_plugin_rules(folder: Path) -> tuple[ExtensionRule, ...]:
    """Returns the rules of the plugins in the person's configuration folder, each named after its plugin.

    Raises PolicyError for one that the person took and did not disable, and that cannot be used, because without it
    more would be allowed.
    """
    rules: list[ExtensionRule] = []
    problems: list[Problem] = []
    for place in places(folder / FOLDER):
        try:
            rules += [_rule(look_at(place, Life()))] if _counts(place) else []
        except SetupError as error:
            problems.append(Problem(str(place), 1, 1, error.why, error.fix))
        except PolicyError as error:
            problems.extend(error.problems)
    if problems:
        raise PolicyError(tuple(problems))
    return tuple(rules)


def brings_rules(folder: Path) -> bool:
    """Returns whether a plugin brings a rule; True also if the record of a plugin cannot be read."""
    try:
        return any(map(_counts, places(folder / FOLDER)))
    except SetupError:
        return True


def _counts(place: Path) -> bool:
    """Returns whether the plugin is a rule that the person took and did not disable. Raises SetupError."""
    if not os.path.lexists(place / RECORD):
        return False
    record = read_record(place / RECORD)
    return record.kind == "rules" and record.enabled


def _rule(found: Found) -> ExtensionRule:
    """Returns the rule of a plugin. Raises PolicyError."""
    manifest, files = found.manifest, found.files
    if not found.life.usable or manifest is None or files is None:
        fix = f"or `remit plugin disable {found.name}`"
        raise PolicyError((Problem(str(found.place), 1, 1, found.life.reason, fix),))
    text = files[manifest.entry].data.decode("utf-8", "replace")
    return replace(read_rule(str(found.folder / manifest.entry), found.name, text), name=f"plugin.{found.name}")


@dataclass(frozen=True, slots=True)
class RuleHosts:
    """The process of the person's own rules, and one for each plugin's rule, so that none can reach another's."""

    own: ExtensionHost | None
    theirs: Mapping[str, ExtensionHost]

    @classmethod
    def start(
        cls, own: Sequence[ExtensionRule], theirs: Sequence[ExtensionRule], made: Callable[..., ExtensionHost]
    ) -> Self:
        """Starts all processes."""
        return cls(made(own) if own else None, {rule.name: made((rule,)) for rule in theirs})

    def ask(self, names: Sequence[str], facts: Facts) -> Json:
        """Returns the answers of these rules, in that order. Raises ExtensionError."""
        own = [name for name in names if name not in self.theirs]
        answers: dict[str, Json] = {}
        if own and self.own is not None:
            answers |= zip(own, _listed(self.own.ask(own, facts), own), strict=True)
        for name in (name for name in names if name in self.theirs):
            (answer,) = _listed(self.theirs[name].ask((name,), facts), (name,))
            allows = isinstance(answer, Mapping) and answer.get("verdict") == "allow"
            answers[name] = {"error": _NO_ALLOW} if allows else answer
        return [answers[name] for name in names]

    def check(self) -> None:
        """Waits until all rules have loaded. Raises PolicyError."""
        for host in self._all():
            host.check()

    def unanswerable(self) -> ExtensionError | None:
        """Returns why one of the processes cannot be asked, or None if all can."""
        return next(filter(None, (host.unanswerable() for host in self._all())), None)

    def close(self) -> None:
        """Ends all processes."""
        for host in self._all():
            host.close()

    def _all(self) -> tuple[ExtensionHost, ...]:
        return (*((self.own,) if self.own else ()), *self.theirs.values())


def _listed(answers: Json, names: Sequence[str]) -> Sequence[Json]:
    if not isinstance(answers, list) or len(answers) != len(names):
        raise ExtensionError("the answer was not understood", "it is not one for each rule", "correct the rule")
    return answers
