"""Takes commands out of the wrappers that run them: `timeout 5 env X=1 nice pytest` is a `pytest` (CMD-03)."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from remit_governance.policy.shell.catalogue.files import packaged
from remit_governance.policy.shell.catalogue.rows import Program, Wrapper
from remit_governance.policy.shell.nodes import harmless_value, harmless_variable
from remit_governance.policy.shell.programs import is_known, is_known_place, takes_any_file, takes_any_word
from remit_governance.policy.shell.reading import UNKNOWN, Argv
from remit_governance.policy.shell.words import Word
from remit_governance.secrets.cutting import shorten

_NOTHING = Program()
MOST_LAYERS = 8
MOST_SUSPECTS = 256
"""The most arguments of one program that are examined as commands it may run."""

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=")
_MODES = frozenset({"pipefail", "errexit", "nounset", "xtrace"})
_NOT_A_SCRIPT = frozenset({"-c", "-e", "-u", "-x", "-l", "-i", "-s", "--norc", "--noprofile", "--posix", "--login"})


_FED = frozenset({"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "fish", "csh", "tcsh"})


@dataclass(slots=True)
class Layers:
    """What was found in a simple command: the commands, their wrappers, scripts that have to be read, and doubts.

    `suspects` are commands that an unknown program may run: its arguments, from each of them on. `texts` are those of
    its arguments that may be scripts.
    """

    commands: list[tuple[Word, ...]] = field(default_factory=list[tuple[Word, ...]])
    wrappers: list[Argv] = field(default_factory=list[Argv])
    suspects: list[Argv] = field(default_factory=list[Argv])
    texts: list[str] = field(default_factory=list[str])
    scripts: list[str] = field(default_factory=list[str])
    doubts: list[str] = field(default_factory=list[str])


def unwrap(words: Sequence[Word]) -> Layers:
    """Returns the commands inside the wrappers of one simple command: at least one command, or a script."""
    found = Layers()
    _peel(tuple(words), found, MOST_LAYERS)
    return found


def _peel(words: tuple[Word, ...], found: Layers, layers: int) -> None:
    program = posixpath.basename(words[0].text)
    row = packaged(program) or _NOTHING
    if "{}" in words[0].text:
        found.doubts.append("`find` runs a program whose name is known only when it runs")
    if program != words[0].text:
        # A rule that denies a program means it in any folder.
        found.wrappers.append((program, *(word.text for word in words[1:])))
        if (row.wraps or program in SHELLS) and not is_known_place(words[0].text):
            # A file elsewhere that only has the name of a wrapper is a program of its own.
            found.commands.append(words)
    if layers == 0:
        found.doubts.append("it wraps commands in too many others")
        found.commands.append(words)
    elif row.refused and not (_reads_line(words) or _only_shows(program, words)):
        # The inner command is not searched for, because a person decides. A rule that denies it still applies.
        found.doubts.append(f"`{program}` {row.refused}")
        _denied_anywhere(words, found)
        if program == "eval" and all(word.text != UNKNOWN for word in words):
            found.scripts.append(" ".join(word.text for word in words[1:]))
        found.commands.append(words)
    elif program in SHELLS and not _only_shows(program, words):
        _shell(program, words, found)
    elif program == "find":
        _find(words, found, layers)
    elif program == "command" and len(words) > 1 and words[1].text in {"-v", "-V"}:
        found.commands.append(words)
    elif row.wraps and not _only_shows(program, words):
        _wrapped(program, row.wraps, words, found, layers)
    else:
        found.commands.append(words)
        if not is_known(program):
            _suspect([word.text for word in words[1:]], found)


_ONLY_SHOW = frozenset({("alias",), ("crontab", "-l"), ("ssh", "-V")})
"""Calls of refused programs that only show something."""
_SHOW_VERSION = frozenset(
    {
        *("sudo", "ssh", "flock", "strace", "gdb", "parallel", "entr", "bwrap", "xargs", "env", "timeout", "watch"),
        *("script", "ltrace", "unshare", "nsenter", "setpriv", "runuser", "su", "chroot", "systemd-run"),
    }
)
"""Programs that run a command, but only show their version if `--version` is their one argument."""
_ACTIVATE = re.compile(r"(?:\./)?\.?venv/bin/activate")
"""The script that activates a project's own virtual environment."""


def _only_shows(program: str, words: Sequence[Word]) -> bool:
    texts = tuple(word.text for word in words)
    if texts[1:] == ("--version",):
        return program in _SHOW_VERSION or program in SHELLS
    if program in SHELLS and texts[1:2] == ("-n",):
        return len(texts) == 3 and texts[2][:1] not in {"-", "+"} and not words[2].vague and texts[2] not in _FED
    if program in {"source", "."}:
        return len(texts) == 2 and _ACTIVATE.fullmatch(texts[1]) is not None
    return texts in _ONLY_SHOW


def _reads_line(words: tuple[Word, ...]) -> bool:
    """Returns whether a command is a `read`, with no option but `-r`, into variables that are harmless."""
    names = [word.text for word in words[1:] if word.text != "-r"]
    return words[0].text == "read" and bool(names) and all(map(harmless_variable, names))


def _denied_anywhere(words: tuple[Word, ...], found: Layers) -> None:
    """Adds the arguments, from each of them on, as wrappers, because it is not known which of them the program runs: a
    rule that denies any of them denies the command."""
    found.wrappers.extend(tuple(w.text for w in words[at:]) for at in range(1, min(len(words), MOST_SUSPECTS)))


def _suspect(arguments: list[str], found: Layers) -> None:
    """Adds the commands that may stand among the arguments or inside one of them, as in `mywrap -c 'rm x'`."""
    for at, text in enumerate(arguments[:MOST_SUSPECTS]):
        inner = text
        if text.startswith("--"):
            inner = text.partition("=")[2]
        elif text.startswith("-"):
            inner = text[2:]
        if inner:
            found.suspects.append((inner, *arguments[at + 1 :]))
        if len(inner.split()) > 1:
            found.texts.append(inner)
    if len(arguments) > MOST_SUSPECTS:
        found.doubts.append("it has too many words to look for a command among them")


def _wrapped(program: str, wrapper: Wrapper, words: tuple[Word, ...], found: Layers, layers: int) -> None:
    inner = _behind_options(program, wrapper, words, found)
    if not inner or inner[0].text == UNKNOWN:
        found.commands.append(words)
        _denied_anywhere(words, found)
        return
    found.wrappers.append(tuple(word.text for word in words))
    if program == "xargs" and not _takes_more(inner):
        found.doubts.append(f"`xargs` gives `{shorten(inner[0].text, 40)}` words that are known only when it runs")
    elif program == "xargs" and not takes_any_file(inner[0].text):
        inner = (*inner, Word(UNKNOWN))  # a word that `xargs` adds may be an option
    _peel(inner, found, layers - 1)


def _takes_more(inner: Sequence[Word]) -> bool:
    """Returns whether any words may be appended to a command without harm."""
    texts = [word.text for word in inner]
    if texts[:1] == ["sed"]:
        return len(texts) == 3 and texts[1] == "-n" and _PRINTS_LINES.fullmatch(texts[2]) is not None
    while texts[:1] == ["npx"]:
        texts = texts[1:]
    return bool(texts) and takes_any_word(texts[0])


_PRINTS_LINES = re.compile(r"\d+(?:,\d+)?p")


def _behind_options(program: str, wrapper: Wrapper, words: tuple[Word, ...], found: Layers) -> tuple[Word, ...] | None:
    """Returns the words of the inner command, or adds a doubt and returns None if an option is not known."""
    at = 1
    while at < len(words):
        text = words[at].text
        if words[at].pattern:
            found.doubts.append(f"an argument of `{program}` is a pattern")
        if text == "--":
            at += 1
            break
        if wrapper.assigns and (assigned := _ASSIGNMENT.match(text)):
            if not harmless_variable(assigned.group(1)) and not (
                not words[at].vague and harmless_value(assigned.group(1), text.partition("=")[2])
            ):
                found.doubts.append(f"`{shorten(assigned.group(1), 40)}` can change what a program does")
            at += 1
            continue
        if not text.startswith("-") or text == "-":
            break
        width = _option_width(text, wrapper)
        if width == 0:
            found.doubts.append(f"Remit does not know `{shorten(text, 40)}` of `{program}`")
            return None
        at += width
    return words[at + wrapper.operands :]


def _option_width(text: str, wrapper: Wrapper) -> int:
    """Returns the number of words that an option takes, its value included, or 0 if the option is not known."""
    if text in wrapper.valued:
        return 2
    if text in wrapper.plain:
        return 1
    if text.startswith("--"):
        return 1 if text.partition("=")[0] in wrapper.valued else 0
    if text[:2] in wrapper.valued:
        return 1
    return 1 if all(f"-{letter}" in wrapper.plain for letter in text[1:]) else 0


def _shell(program: str, words: tuple[Word, ...], found: Layers) -> None:
    """Reads a call of a shell: `sh -c SCRIPT` gives the script, any other call is a command, and a shell that reads its
    commands from its input adds a doubt."""
    at, runs_text = 1, False
    while at < len(words) and words[at].text[:1] in {"-", "+"} and words[at].text != "-":
        text = words[at].text
        letters = {text} if text.startswith("--") else {f"-{letter}" for letter in text[1:]}
        if "-o" in letters and text.endswith("o") and at + 1 < len(words) and words[at + 1].text in _MODES:
            letters, at = letters - {"-o"}, at + 1
        if text.startswith("+") or not letters <= _NOT_A_SCRIPT or "-s" in letters:
            found.doubts.append(f"Remit does not know `{shorten(text, 40)}` of `{program}`")
        runs_text |= "-c" in letters
        at += 1
    if runs_text and at < len(words):
        found.wrappers.append(tuple(word.text for word in words))
        found.scripts.append(words[at].text)
        if words[at].text == UNKNOWN or words[at].pattern:
            found.doubts.append(f"what `{program}` runs is known only when it runs")
        return
    if at >= len(words) or (words[at:] == words[-1:] and words[-1].text == "-") or words[at].text in _FED:
        found.doubts.append(f"`{program}` reads its commands from somewhere else")
    found.commands.append(words)


def _find(words: tuple[Word, ...], found: Layers, layers: int) -> None:
    """Adds the commands of a `find`: itself, and the one between each `-exec` and its `;` or `+`."""
    found.commands.append(words)
    at = 1
    while at < len(words):
        if words[at].text in {"-exec", "-execdir", "-ok", "-okdir"}:
            # A `+` ends the command only after `{}`; elsewhere it is a word like any other.
            ends = (n for n in range(at + 1, len(words)) if words[n].text == ";" or _is_last(words, n))
            end = next(ends, len(words))
            inner = words[at + 1 : end]
            if inner:
                if any("{}" in word.text and word.text != "{}" for word in inner[1:]):
                    found.doubts.append("`find` puts a file's name into a word, which may become an option")
                _peel(inner, found, layers - 1)
            else:
                found.doubts.append("`find` runs a program whose name is known only when it runs")
            at = end
        at += 1


def _is_last(words: Sequence[Word], at: int) -> bool:
    return (words[at - 1].text, words[at].text) == ("{}", "+")
