"""What the arguments of well-known programs make them do: write a file, or run another program (CMD-01).

It uses rows (`policy/programs`) and a few functions, not a model of each program. For a program that has a function
here, an option that is not known to be harmless is a doubt. A program that is not known adds no doubt, so that a rule
that allows it allows everything that it does.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from types import MappingProxyType

from remit_governance.policy.shell.catalogue.files import packaged
from remit_governance.policy.shell.catalogue.rows import DoubtName, Program, WrittenName
from remit_governance.policy.shell.effects.judging import effect_of, files_of, has_one_effect
from remit_governance.policy.shell.effects.program_row import readings
from remit_governance.policy.shell.options import row_of
from remit_governance.policy.shell.words import Word
from remit_governance.secrets.cutting import shorten

_PLACES = frozenset({"", "/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"})


def is_known_place(program: str) -> bool:
    """Returns whether a program is called by its name alone or from a folder of system programs: `./ls` is not `ls`."""
    return posixpath.dirname(program) in _PLACES


@dataclass(frozen=True, slots=True)
class Effects:
    """The files that a command writes because of its arguments, and what about the command is not certain."""

    writes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


def is_builtin(program: str) -> bool:
    """Returns whether this is a builtin of shells without an effect outside the shell, so that it needs no rule of its
    own in a line that also runs other programs.
    """
    row = packaged(program)
    return row is not None and row.builtin


def takes_any_file(program: str) -> bool:
    """Returns whether any words are harmless as arguments of this program, because it has no option that writes a file
    or runs another program.
    """
    row = packaged(program)
    return row is not None and row.any_words


def takes_any_word(program: str) -> bool:
    """Returns whether a program has one effect whatever its words are, with a risk below `high`."""
    return takes_any_file(program) or has_one_effect(program)


def is_known(program: str) -> bool:
    """Returns whether it is known which of its arguments this program would run."""
    row = packaged(program)
    return row is not None and bool(row.any_words or row.builtin or row.doubts or row.doubted or row.written)


def examine(words: Sequence[Word]) -> Effects:
    """Returns what the arguments in these words make their program write, and what is not certain about them."""
    program = posixpath.basename(words[0].text)
    arguments = tuple(word.text for word in words[1:])
    row = packaged(program) or _NOTHING
    doubts = list(_wild(row, program, words))
    if row.doubts:
        doubts.extend(f"`{program}` {why}" for why in DOUBTS[row.doubts](arguments))
    if row.doubted and _has_one_of(arguments, row.doubted.options):
        doubts.append(f"`{program}` {row.doubted.why}")
    writes = WRITTEN[row.written](arguments) if row.written else ()
    written = dict.fromkeys((*writes, *files_of(program, arguments)))
    return Effects(tuple(written), tuple(dict.fromkeys(doubts)))


_NOTHING = Program()


def _has_one_of(arguments: Sequence[str], options: Sequence[str]) -> bool:
    short = "".join(option[1] for option in options if len(option) == 2)
    return _has(arguments, short=short, long=[option for option in options if option.startswith("--")])


def _wild(row: Program, program: str, words: Sequence[Word]) -> Iterator[str]:
    """Yields a doubt for each pattern that begins with a wildcard, because it may expand to a file name that is read as
    an option."""
    if row.any_words:
        return
    for word in words[1:]:
        if word.text == "--":
            return
        if word.pattern and word.text[:1] in {"*", "?", "["}:
            yield f"a file's name could become an option of `{program}`: write `./{shorten(word.text, 40)}`"


def _has(arguments: Sequence[str], *, short: str = "", long: Sequence[str] = ()) -> bool:
    """Returns whether one of these options is given; letters may be bundled, and long names abbreviated as getopt
    allows."""
    for argument in arguments:
        if argument == "--":
            return False
        if argument.startswith("--"):
            name = argument.partition("=")[0]
            if any(option.startswith(name) for option in long):
                return True
        elif argument.startswith("-") and not set(short).isdisjoint(argument[1:]):
            return True
    return False


def _value_of(arguments: Sequence[str], short: str, long: str) -> Iterator[str]:
    """Yields the values of an option, whether they are attached to it or stand in the next word."""
    for at, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if argument.startswith("--") and len(name) > 2 and long.startswith(name):
            yield value if equals else next(iter(arguments[at + 1 : at + 2]), "")
        elif short and argument.startswith("-") and not argument.startswith("--") and short in argument[1:]:
            rest = argument[argument.index(short, 1) + 1 :]
            yield rest or next(iter(arguments[at + 1 : at + 2]), "")


def _operands(arguments: Sequence[str]) -> list[str]:
    """Returns the words that are not options, and every word after `--`."""
    if "--" in arguments:
        at = list(arguments).index("--")
        return [*_operands(arguments[:at]), *arguments[at + 1 :]]
    return [argument for argument in arguments if not argument.startswith("-") or argument == "-"]


_SED_ADDRESS = r"(?:\d+|\$|/(?:[^/\\\n]|\\.)*/)"
_SED_COMMAND = (
    rf"\s*(?:{_SED_ADDRESS}(?:,\s*(?:\+?{_SED_ADDRESS}))?\s*!?)?\s*"
    r"(?:[pdqDPnNgGhHx=]|s([/|#,:@])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gpIi0-9]*|"
    r"y/(?:[^/\\\n]|\\.)*/(?:[^/\\\n]|\\.)*/)?\s*"
)


def _sed_scripts(arguments: Sequence[str]) -> list[str]:
    given = [*_value_of(arguments, "e", "--expression")]
    return given or _operands(arguments)[:1]


def _sed_reads(script: str) -> bool:
    """Returns whether every command of a sed script only edits what sed prints."""
    rest = script
    while rest:
        match = re.match(_SED_COMMAND, rest)
        if match is None or (match.end() < len(rest) and rest[match.end()] not in ";\n"):
            return False
        rest = rest[match.end() + 1 :]
    return True


_SED_OPTION = re.compile(r"--?|-[nrEsuz]*(?:e.*|i[^e/*]*)?|--(?!l)[a-z-]+(?:=[^/*]*)?|--e[a-z]*=.*", re.DOTALL)
"""Options of sed without a value in the next word, unless that is a script. A suffix of `-i` must not hold `/` or `*`,
because it could name another folder."""


def _sed(arguments: Sequence[str]) -> Iterator[str]:
    if _has(arguments, short="f", long=("--file",)):
        yield "takes its script from a file"
    elif not all(_SED_OPTION.fullmatch(a) for a in arguments if a.startswith("-")):
        yield "has options that Remit does not know"
    elif not all(map(_sed_reads, _sed_scripts(arguments))):
        yield "has a script that may write files or run programs"


def _sed_writes(arguments: Sequence[str]) -> Iterator[str]:
    if _has(arguments, short="i", long=("--in-place",)):
        operands = _operands(arguments)
        yield from operands if any(_value_of(arguments, "e", "--expression")) else operands[1:]


_AWK_OPTION = re.compile(r"-|--|-[vF].*|--(?:assign|field-separator|version|help)(?:=.*)?", re.DOTALL)
# Printed text may hold any character, also one that would end the statement, so a `>` anywhere after `print` counts.
_AWK_REACHES_OUT = re.compile(
    r"\bsystem\b|\bgetline\b|@|(?<!\|)\|(?!\|)|\bprintf?\b.*>|\bclose\b|\\x|\\[0-7]", re.DOTALL
)


def _awk(arguments: Sequence[str]) -> Iterator[str]:
    if any(argument.startswith("-") and not _AWK_OPTION.fullmatch(argument) for argument in arguments):
        yield "has options that Remit does not know"
    for program in arguments:
        if _AWK_REACHES_OUT.search(program):
            yield "has a program that may write files or run others"


_GIT_RUNS = (
    *("--ext-diff", "--textconv", "--upload-pack", "--receive-pack", "--exec", "--open-files-in-pager", "--output"),
    *("--exec-path", "--config-env", "--git-dir", "--work-tree", "--namespace", "--template", "--super-prefix"),
)


def git_words(arguments: Sequence[str]) -> tuple[str, ...]:
    """Returns the words after git's own options: the subcommand and what follows it."""
    row, at = row_of(("git",)), 0
    while at < len(arguments) and arguments[at].startswith("-"):
        option = row.options.get(arguments[at]) if row else None
        at += 2 if option and option.value == "=" else 1
    return tuple(arguments[at:])


def _git(arguments: Sequence[str]) -> Iterator[str]:
    words = git_words(arguments)
    own = arguments[: len(arguments) - len(words)]
    if not words:
        return
    if any(option not in {"-C", "--no-pager", "-P", "--version", "--help"} for option in own if option[:1] == "-"):
        yield "has options that can change what it runs"
    if effect_of(("git", *arguments)) == "unknown":
        name = shorten(words[0], 40)
        yield f"Remit does not know `{name}` with these words: it may be an alias, or run what they name"
    if any(len(w) > 2 and any(o.startswith(w.partition("=")[0]) for o in _GIT_RUNS) for w in words if w[:2] == "--"):
        yield "has an option that runs a program or writes a file"
    if words[0] == "grep" and any(re.match(r"-[^-]*O", word) for word in words):
        yield "has an option that runs a program or writes a file"
    told = [word for word in words[1:] if word not in {"-v", "--verbose"}]
    if words[0] == "remote" and told and told[0] not in {"show", "get-url"}:
        yield "changes where it sends things"


_TAR_RUNS = (
    *("--checkpoint-action", "--to-command", "--use-compress-program", "--rsh-command", "--rmt-command"),
    *("--info-script", "--new-volume-script", "--index-file", "--files-from"),
)


def _tar(arguments: Sequence[str]) -> Iterator[str]:
    first = arguments[0] if arguments and not arguments[0].startswith("-") else ""
    archives = {value for given in readings("tar", arguments) for option, value in given.values if option == "--file"}
    if any(":" in archive.partition("/")[0] for archive in archives) and "--force-local" not in arguments:
        yield "has an archive on another machine"
    # `--file` in full is not an abbreviation of another option, such as `--files-from`.
    arguments = [argument for argument in arguments if argument.partition("=")[0] != "--file"]
    if _has(arguments, short="IFT", long=_TAR_RUNS) or not set("IFT").isdisjoint(first):
        yield "has an option that runs a program"
    if _has(arguments, short="x", long=("--extract", "--get")) or "x" in first:
        yield _UNPACKS


def _find(arguments: Sequence[str]) -> Iterator[str]:
    if any(a == "-delete" or a.startswith(("-fprint", "-fls")) for a in arguments):
        yield "deletes or writes files"


_UNPACKS = "unpacks files whose names are known only when it runs"


def _unzip(arguments: Sequence[str]) -> Iterator[str]:
    # The words after the archive are names of its members, even if they look like options.
    if not _has(tuple(takewhile(lambda argument: argument.startswith("-"), arguments)), short="lptvZ"):
        yield _UNPACKS


_SETS = "sets a variable, whose name may contain a command"


def _printf(arguments: Sequence[str]) -> Iterator[str]:
    if any(argument[:1] in {"-", "*", "?", "["} for argument in arguments[:1]):
        yield _SETS


def _test(arguments: Sequence[str]) -> Iterator[str]:
    if "-v" in arguments:
        yield "looks for a variable, whose name may contain a command"


def _set(arguments: Sequence[str]) -> Iterator[str]:
    if any({"k", "A"} & set(word) for word in arguments if word[:1] in {"-", "+"}) or "keyword" in arguments:
        yield "turns arguments into variables"


DOUBTS: Mapping[DoubtName, Callable[[Sequence[str]], Iterator[str]]] = MappingProxyType(
    {
        "awk": _awk,
        "find": _find,
        "git": _git,
        "printf": _printf,
        "sed": _sed,
        "set": _set,
        "tar": _tar,
        "test": _test,
        "unzip": _unzip,
    }
)
"""Functions that yield, from the arguments, why a call of a program is not certain. Rows name them in `doubts`."""


def _second(program: str, arguments: Sequence[str]) -> Iterator[str]:
    """Yields the operands after the first one."""
    for given in readings(program, arguments):
        yield from given.operands[1:]


def _destination(arguments: Sequence[str]) -> Iterator[str]:
    target = [*_value_of(arguments, "t", "--target-directory")]
    yield from target or _operands(arguments)[-1:]


def _moves(arguments: Sequence[str]) -> Iterator[str]:
    yield from _operands(arguments)
    yield from _value_of(arguments, "t", "--target-directory")


def _yq_writes(arguments: Sequence[str]) -> Iterator[str]:
    if _has(arguments, short="i", long=("--inplace", "--in-place")):
        yield from _operands(arguments)[1:]


WRITTEN: Mapping[WrittenName, Callable[[Sequence[str]], Iterator[str]]] = MappingProxyType(
    {
        "after_first": lambda arguments: iter(_operands(arguments)[1:]),
        "dd": lambda arguments: (each[3:] for each in arguments if each.startswith("of=")),
        "destination": _destination,
        "moves": _moves,
        "operands": lambda arguments: iter(_operands(arguments)),
        "output": partial(_value_of, short="o", long="--output"),
        "sed": _sed_writes,
        "uniq": partial(_second, "uniq"),
        "xxd": partial(_second, "xxd"),
        "yq": _yq_writes,
    }
)
"""Functions that yield the arguments that name files to write. Rows name them in `written`."""
