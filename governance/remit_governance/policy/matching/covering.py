"""Whether one `match` takes in all that another does, as far as that can be proved from their text (003 §Match
semantics). Pure.

"No" means that it is not proved. What is proved: a key that is left out takes in every value; equal values; of globs
also `**`, a plain folder (`src/**`) and a plain name (`.env`) over what lies below; of commands their first words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from remit_governance.hosts import host_and_port
from remit_governance.policy.language.policy_form import MatchForm
from remit_governance.policy.matching.commands import command_prefix
from remit_governance.policy.matching.paths import fold
from remit_governance.policy.shell.options.parse_options import forms_of

EVERYWHERE = "**"

_PLAIN = re.compile(r"[A-Za-z0-9_.-]+", re.ASCII)
_FOLDER = re.compile(r"((?:[A-Za-z0-9_.-]+/)+)\*\*", re.ASCII)


def covers(wide: MatchForm, narrow: MatchForm) -> bool:
    """Tells whether every action that `narrow` matches is one that `wide`, of a rule that stops, matches too."""
    asked, given = _given_keys(wide), _given_keys(narrow)
    return all(key in given and _COVERS.get(key, _among)(values, given[key]) for key, values in asked.items())


def globs_cover(wide: Sequence[str], narrow: Sequence[str]) -> bool:
    """Tells whether every path that some of `narrow` match is one that `wide` do; `!` takes out again."""
    kept = {glob for glob in narrow if glob.startswith("!")}
    if any(glob.startswith("!") and glob not in kept for glob in wide):
        return False
    return all(any(_glob_covers(w, n) for w in _including(wide)) for n in _including(narrow))


def folded_globs_cover(wide: Sequence[str], narrow: Sequence[str]) -> bool:
    """The same for globs that are matched folded, as the built-in rules' are."""
    return globs_cover([fold(glob) for glob in wide], [fold(glob) for glob in narrow])


def _given_keys(form: MatchForm) -> Mapping[str, tuple[str, ...]]:
    return {key: values for key, values in form if values is not None}


def _among(wide: Sequence[str], narrow: Sequence[str]) -> bool:
    return set(narrow) <= set(wide)


def _hosts_cover(wide: Sequence[str], narrow: Sequence[str]) -> bool:
    """A rule that stops a host without a port stops it at every one."""
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
    # `src/` alone means a folder of that name anywhere; with something behind the slash it is anchored.
    return folder is not None and len(narrow) > len(folder[1]) and narrow.startswith(folder[1])


def _commands_cover(wide: Sequence[str], narrow: Sequence[str]) -> bool:
    prefixes = [command_prefix(command) for command in wide]
    return all(any(_prefix_covers(w, command_prefix(n)) for w in prefixes) for n in narrow)


def _prefix_covers(wide: tuple[str, ...], narrow: tuple[str, ...]) -> bool:
    # The first words of a command that is another name of a second one say nothing of the second.
    return narrow[: len(wide)] == wide and (wide == narrow or len(forms_of(narrow)) == 1)


_COVERS = {"path_glob": globs_cover, "command": _commands_cover, "host": _hosts_cover}
