"""Reads the command line of a program that searches: whether it searches whole folders, and what it certainly names.

The options are this module's own, because one that is missing may take the next word as its value: then that word is
not taken for a file that is searched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from remit_governance.policy.shell.catalogue.rows import Program
from remit_governance.policy.shell.options import calls_of, family_of

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
_OPTIONS: Mapping[str, Program] = MappingProxyType(
    {
        **dict.fromkeys(("grep", "egrep", "fgrep", "rgrep", "ugrep", "ug", "zgrep", "zegrep", "zfgrep"), _GREP),
        **dict.fromkeys(("bzgrep", "bzegrep", "bzfgrep", "xzgrep", "xzegrep", "xzfgrep", "lzgrep", "zstdgrep"), _GREP),
        **dict.fromkeys(("rg", "rga"), _RIPGREP),
        **dict.fromkeys(("ag", "ack", "ack-grep", "pt", "sift"), _OTHERS),
    }
)
_READ_ALL = frozenset({"rg", "rga", "ag", "ack", "ack-grep", "pt", "sift", "ugrep", "ug", "rgrep"})
"""Programs that read the folder they are in if none is named."""
_READ_BY_THEMSELVES = frozenset({"codespell", "typos", "ast-grep", "sg", "semgrep", "detect-secrets", "trufflehog"})
"""Programs that show lines of all files where they are, and whose options are not looked at."""
_PATTERNS = frozenset({"--regexp", "--file", "--match"})
_FOLLOW = frozenset({"--dereference-recursive", "--follow"})


@dataclass(frozen=True, slots=True)
class Search:
    """A search: whether it certainly names what it searches, whether it follows links, whether it only lists files."""

    names_all: bool
    follows: bool
    names_only: bool = False


def search_of(program: str, words: Sequence[str]) -> Search | None:
    """Returns the search of whole folders that a command is, or None if it is none."""
    if program in _READ_BY_THEMSELVES:
        return Search(names_all=False, follows=False)
    row = _OPTIONS.get(program)
    if row is None:
        return None
    call = next(calls_of((program, *words), family=family_of(row, program)))
    if "--files" in call.options and not call.unknown:
        return Search(names_all=True, follows=False, names_only=True)
    given = dict(call.values)
    goes_down = not call.options.isdisjoint({"--recursive", *_FOLLOW}) or call.unknown
    # A value may be abbreviated, as in `-d rec`.
    by_value = any(name == "--directories" and value not in {"read", "skip"} for name, value in call.values)
    if not (program in _READ_ALL or goes_down or by_value):
        return None
    pattern = 0 if _PATTERNS & given.keys() else 1
    names_all = not call.unknown and not call.wild and len(call.operands) > pattern
    return Search(names_all, follows=not call.options.isdisjoint(_FOLLOW))
