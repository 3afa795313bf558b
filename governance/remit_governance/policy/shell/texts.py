"""Tells the words of a command line that are texts, such as the pattern of a search, from those that may be files.

It is pure. A word is a text only if that is certain: the program's options are all known, and no shell puts other words
in its place. The options are this module's own, because one that is missing may take the next word as its value.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from remit_governance.policy.shell.catalogue.rows import Program
from remit_governance.policy.shell.options import Call, Family, calls_of, family_of, program_name

_GREP = Program(
    options="""
    -e|--regexp= -f|--file= -A|--after-context= -B|--before-context= -C|--context= -m|--max-count= -d|--directories=
    -D|--devices= --label= --include= --exclude= --exclude-from= --exclude-dir= --binary-files= --group-separator=
    --color[=] --colour[=] -E|--extended-regexp -F|--fixed-strings -G|--basic-regexp -P|--perl-regexp -i|--ignore-case
    -y --no-ignore-case -w|--word-regexp -x|--line-regexp -z|--null-data -s|--no-messages -v|--invert-match -b
    --byte-offset -n|--line-number --line-buffered -H|--with-filename -h|--no-filename -o|--only-matching -q|--quiet
    --silent -a|--text -I -L|--files-without-match -l|--files-with-matches -c|--count -T|--initial-tab -U|--binary
    -Z|--null --no-group-separator -r|--recursive -R|--dereference-recursive -V|--version --help -0 -1 -2 -3 -4 -5 -6
    -7 -8 -9
    """
)
_RIPGREP = Program(
    options="""
    -e|--regexp= -f|--file= -A|--after-context= -B|--before-context= -C|--context= -m|--max-count= -g|--glob= --iglob=
    -t|--type= -T|--type-not= --type-add= --type-clear= -j|--threads= -r|--replace= -M|--max-columns= -E|--encoding=
    --engine= --color= --colors= --context-separator= --field-context-separator= --field-match-separator=
    --dfa-size-limit= --regex-size-limit= --max-filesize= --max-depth= --maxdepth= -d= --path-separator= --pre=
    --pre-glob= --ignore-file= --sort= --sortr= --binary --block-buffered -b|--byte-offset -s|--case-sensitive --column
    -c|--count --count-matches --crlf --debug --trace --files -l|--files-with-matches --files-without-match
    -F|--fixed-strings -L|--follow --glob-case-insensitive --heading -h|--help -.|--hidden -i|--ignore-case
    --ignore-file-case-insensitive --include-zero -v|--invert-match --json --line-buffered -n|--line-number
    -x|--line-regexp --max-columns-preview --mmap -U|--multiline --multiline-dotall --no-config -I|--no-filename
    --no-heading --no-hidden --no-ignore --no-ignore-dot --no-ignore-exclude --no-ignore-files --no-ignore-global
    --no-ignore-messages --no-ignore-parent --no-ignore-vcs -N|--no-line-number --no-messages --no-mmap
    --no-require-git --no-unicode -0|--null --null-data --one-file-system -o|--only-matching --passthru -P|--pcre2
    --pcre2-version -p|--pretty -q|--quiet -z|--search-zip -S|--smart-case --stats --stop-on-nonmatch -a|--text --trim
    --type-list -u|--unrestricted -V|--version --vimgrep -H|--with-filename -w|--word-regexp
    """
)
_OTHERS = Program(
    options="""
    --match= -i|--ignore-case -s|--case-sensitive -S|--smart-case -l|--files-with-matches -c|--count -w|--word-regexp
    -Q|--literal -v|--invert-match -m|--max-count= --ignore= --nocolor --nogroup --nobreak --noheading --numbers
    --column --hidden
    """
)
SEARCH_OPTIONS: Mapping[str, Program] = MappingProxyType(
    {
        **dict.fromkeys(("grep", "egrep", "fgrep", "rgrep", "ugrep", "ug", "zgrep", "zegrep", "zfgrep"), _GREP),
        **dict.fromkeys(("bzgrep", "bzegrep", "bzfgrep", "xzgrep", "xzegrep", "xzfgrep", "lzgrep", "zstdgrep"), _GREP),
        **dict.fromkeys(("rg", "rga"), _RIPGREP),
        **dict.fromkeys(("ag", "ack", "ack-grep", "pt", "sift"), _OTHERS),
    }
)
"""Program that searches → its options."""

_ANY = re.compile(r"[\s\S]*")
_FILTER = re.compile(r"(?:(?!\b(?:import|include)\b)[\s\S])*")
"""A filter of `jq` that names no file."""
_PATH = re.compile(r"[\w.\[\]|?*, -]+")
"""A filter of `yq` without parentheses, so that it calls nothing with the name of a file."""
_PART = r"(?:[^/\\\n\[]|\\.)*"
_STEP = rf"(?:[0-9,$]|/{_PART}/)*(?:[pdq=]|s/{_PART}/{_PART}/[gpiI0-9]*)"
_EDIT = re.compile(rf"{_STEP}(?:; ?{_STEP})*;?")
"""A script of `sed` that reads and writes no file. It has no brackets, in which a slash ends nothing."""


@dataclass(frozen=True, slots=True)
class Texts:
    """Which words of a program are texts: how many of its operands from the first on, and the values of the options
    `values`. If one of the options `instead` is given, its operands are all files. A text must have the form `form`."""

    options: Program
    operands: int = 1
    values: frozenset[str] = frozenset()
    instead: frozenset[str] = frozenset()
    form: re.Pattern[str] = _ANY


_SEARCH = frozenset({"--regexp", "--match"})
_MANY = 1_000
_TEXTS: Mapping[str, Texts] = MappingProxyType(
    {
        **{name: Texts(row, 1, _SEARCH, _SEARCH | {"--file", "--files"}) for name, row in SEARCH_OPTIONS.items()},
        "git grep": Texts(
            Program(
                options="""
                -e|--regexp= -f|--file= -A= -B= -C= -n|--line-number -i|--ignore-case -w|--word-regexp -l|--name-only
                -c|--count -E -F -P -G -h -H -I -v -q -a -o --cached
                """
            ),
            1,
            _SEARCH,
            _SEARCH | {"--file"},
        ),
        "git commit": Texts(
            Program(options="-m|--message= -a|--all -s|--signoff -q|--quiet -v|--verbose -n|--no-verify --amend"),
            0,
            frozenset({"--message"}),
        ),
        "jq": Texts(
            Program(
                options="""
                -r|--raw-output -c|--compact-output -s|--slurp -n|--null-input -e|--exit-status -S|--sort-keys
                -M|--monochrome-output -C|--color-output -j|--join-output -a|--ascii-output --tab
                """
            ),
            form=_FILTER,
        ),
        "yq": Texts(Program(options="-r -P -e -n -M -C -j"), form=_PATH),
        "sed": Texts(
            Program(options="-n|--quiet -e|--expression= -f|--file= -E|--regexp-extended -r -s|--separate -u -z -i[=]"),
            1,
            frozenset({"--expression"}),
            frozenset({"--expression", "--file"}),
            _EDIT,
        ),
        "tr": Texts(Program(options="-c|-C|--complement -d|--delete -s|--squeeze-repeats -t|--truncate-set1"), _MANY),
        "expr": Texts(Program(options="--help --version"), _MANY),
        "cut": Texts(
            Program(
                options="""
                -d|--delimiter= -f|--fields= -c|--characters= -b|--bytes= -s|--only-delimited --complement
                -z|--zero-terminated
                """
            ),
            0,
            frozenset({"--delimiter", "--fields", "--characters", "--bytes"}),
        ),
        "sort": Texts(
            Program(
                options="""
                -t|--field-separator= -k|--key= -n|--numeric-sort -r|--reverse -u|--unique -f|--ignore-case -h -V -b -s
                -g -M -d
                """
            ),
            0,
            frozenset({"--field-separator", "--key"}),
        ),
    }
)
"""Program → which of its words are texts."""


def words_without_texts(command: Sequence[str], replaced: Collection[str]) -> list[str]:
    """Returns the words of a command after the program, without those that are certainly texts and no files.

    `replaced` are the words in whose place a shell may put others: each may be a file, and where one may become an
    option, nothing is certain."""
    program, *words = command
    if "/" in program and not program.startswith(("/bin/", "/usr/bin/")):
        return words
    name = program_name(program)
    subcommand = f"{name} {words[0]}" if words else ""
    at = 1 if subcommand in _TEXTS else 0
    known = _TEXTS.get(subcommand if at else name)
    if known is None or any(word in replaced and not _begins_plainly(word) for word in words):
        return words
    readings = list(calls_of((name, *words[at:]), family=_family(subcommand if at else name)))
    if len(readings) != 1 or readings[0].unknown:
        return words
    left = list(words)
    for begins, text in _texts_of(readings[0], known):
        if text not in replaced and known.form.fullmatch(text):
            _remove(left, begins, text, readings[0])
    return left


@cache
def _family(name: str) -> Family:
    return family_of(_TEXTS[name].options, name.split(" ", maxsplit=1)[0])


def _begins_plainly(word: str) -> bool:
    """Tells whether a word with wildcards can become no option."""
    return word[:1].isalnum() or word.startswith(("./", "_", "."))


def _texts_of(call: Call, known: Texts) -> Iterator[tuple[bool, str]]:
    """Yields each text of a call, and whether it is the value of an option."""
    yield from ((True, value) for name, value in sorted(call.values) if name in known.values)
    if known.instead.isdisjoint(call.options):
        yield from ((False, min(operand.spellings)) for operand in call.operands[: known.operands])


def _remove(words: list[str], is_value: bool, text: str, call: Call) -> None:
    """Removes a text once: an operand, or the value of an option that stands before all operands, because some programs
    read no options after the first of them."""
    if not is_value:
        words.remove(text)
        return
    operands = {spelling for operand in call.operands for spelling in operand.spellings}
    for at, word in enumerate(words):
        if word in operands and word != text:
            return
        if word.startswith("-") and word in {f"-{word[1:2]}{text}", f"{word.partition('=')[0]}={text}"}:
            del words[at]
            return
        if word == text and at and words[at - 1].startswith("-"):
            del words[at]
            return
