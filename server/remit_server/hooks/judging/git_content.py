"""Says which files' contents a git command may show, by its words alone.

Commands that show only names, and options that change nothing about that, are listed here. Everything else of git may
show any file that it keeps, unless it names paths after `--` in a form that nothing else can be read into.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from remit_governance.policy.shell.effects.judging import effect_of
from remit_governance.policy.shell.programs import git_words

_NAMES = frozenset(
    {
        *("annotate", "blame", "branch", "bundle", "check-attr", "check-ignore", "check-mailmap", "check-ref-format"),
        *("cherry", "column", "commit-graph", "config", "count-objects", "describe", "for-each-ref", "fsck"),
        *("hash-object", "help", "ls-files", "ls-tree", "merge-base", "multi-pack-index", "name-rev", "notes"),
        *("patch-id", "remote", "rev-list", "rev-parse", "show-branch", "show-index", "show-ref", "sparse-checkout"),
        *("stripspace", "submodule", "symbolic-ref", "tag", "var", "verify-commit", "verify-pack", "verify-tag"),
        *("version", "worktree", "get-tar-commit-id", "fmt-merge-msg"),
    }
)
"""Commands that show no file's content, or only of files that their words name (`blame`)."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_COMMON = _words(
    """
    --stat --stat= --shortstat --numstat --name-only --name-status --summary --dirstat --no-patch -s --raw --color
    --color= --no-color --diff-filter= --no-renames -M -C -z -r --root --abbrev= --no-ext-diff
    """
)
_LOG = _COMMON | _words(
    """
    --oneline --graph --all --branches --branches= --tags --tags= --remotes --remotes= --decorate --decorate=
    --no-decorate --merges --no-merges --first-parent --reverse --date-order --topo-order --author-date-order
    --abbrev-commit --no-abbrev-commit -i --relative-date --left-right --cherry-pick --cherry-mark --no-walk -g
    --walk-reflogs --boundary --simplify-by-decoration --full-history -n --format= --format --pretty= --pretty --since=
    --since --until= --until --after= --after --before= --before --author= --author --committer= --committer --grep=
    --grep --max-count= --max-count --skip= --skip --date= --invert-grep --all-match -E -F -P -sn -sne -ns -nse -e
    --follow
    """
)
_DIFF = _COMMON | _words(
    "--cached --staged --merge-base -w -b --ignore-all-space --ignore-space-change --relative --exit-code --quiet "
    "--no-commit-id"
)
_STATUS = _words(
    """
    -s --short -b --branch -sb -bs --porcelain --porcelain= --long -z -u -uno -unormal -uall --untracked-files
    --untracked-files= --ignored --ignored= --column --no-column --ahead-behind --no-ahead-behind --renames
    --no-renames --find-renames --show-stash --ignore-submodules --ignore-submodules=
    """
)
_QUIET: Mapping[tuple[str, ...], frozenset[str]] = MappingProxyType(
    {
        **dict.fromkeys((("log",), ("shortlog",), ("whatchanged",), ("reflog",), ("stash", "list")), _LOG),
        **dict.fromkeys((("diff",), ("diff-tree",), ("diff-index",), ("diff-files",)), _DIFF),
        ("show",): _LOG | _DIFF,
        ("status",): _STATUS,
        **dict.fromkeys((("rerere", "status"), ("rerere", "remaining"), ("bisect", "log")), frozenset[str]()),
        **dict.fromkeys((("lfs", "ls-files"), ("lfs", "status")), frozenset[str]()),
        ("cat-file",): frozenset({"-t", "-s", "-e"}),
    }
)
"""Options with which these commands show no content. One with `=` has its value in the same word."""
_FORMATS = _words("--stat --shortstat --numstat --name-only --name-status --summary --dirstat --no-patch -s --quiet")
_NEED_ONE: Mapping[str, frozenset[str]] = MappingProxyType(
    {"diff": _FORMATS, "show": _FORMATS, "cat-file": frozenset({"-t", "-s", "-e"})}
)
"""Commands that show content unless they have one of these options."""

_NARROWED = frozenset({"log", "diff", "show", "grep", "whatchanged", "diff-index", "diff-files", "diff-tree"})
_PATCHES = (_LOG | _DIFF) - _words(
    "--format --pretty --since --until --after --before --author --committer --grep --max-count --skip --follow"
) | _words(
    """
    -p -u --patch --patch-with-stat --unified= -c --cc -m -W --function-context --word-diff --word-diff= --color-words
    --minimal --patience --histogram --no-prefix --full-index --ignore-blank-lines --ignore-space-at-eol --no-textconv
    """
)
_LINES = _words(
    """
    --line-number --files-with-matches --count --heading --break --ignore-case --word-regexp --extended-regexp
    --fixed-strings --perl-regexp --cached --color --color= --no-color --show-function --function-context
    """
)
"""Options that take no value from the next word, of commands that show changes and of `git grep`."""
_NUMBER = re.compile(r"-\d+")
_PATCHES_SHORT = re.compile(r"-\d+|-U\d+")
_LINES_SHORT = re.compile(r"-[niwlLchHEFPGIvqoaWpr]+")
_REVISION = re.compile(r"(?![0-9a-fA-F]{4,}(?:[~^.@]|\Z))(?!.*-g[0-9a-fA-F]{4})[A-Za-z0-9@][A-Za-z0-9_./@~^-]*")
"""A name that is certainly a commit's: a hash may be a file's."""

_SHOW_PATCH = frozenset({"add", "am", "checkout", "commit", "rebase", "reset", "restore", "stash"})
_SHOW_ALL = frozenset({"archive", "difftool", "fast-export"})
_PATCH = re.compile(r"-[a-zA-Z]*[pv]|--patch|--verbose|--interactive|-i|--show-current-patch.*")


@dataclass(frozen=True, slots=True)
class GitCall:
    """A git command: the folders of its `-C`, each within the last, and whose contents it may show, by their paths and
    by globs: None for any.

    If all words in `may_be_paths` are files, git takes none of them for a revision, and shows nothing else.
    """

    folders: tuple[str, ...]
    shown: tuple[str, ...] | None
    may_be_paths: tuple[str, ...] = ()


def git_call(arguments: Sequence[str]) -> GitCall:
    """Reads the words after `git`."""
    words = git_words(arguments)
    own = arguments[: len(arguments) - len(words)]
    folders = tuple(own[at + 1] for at, word in enumerate(own[:-1]) if word == "-C")
    shown = _shown(words, tuple(arguments))
    return GitCall(folders, shown, _only_plain(words) if shown is None else ())


def _shown(words: tuple[str, ...], arguments: tuple[str, ...]) -> tuple[str, ...] | None:
    if not words or words[0] in _NAMES:
        return ()
    effect = effect_of(("git", *arguments))
    if effect != "reads" and words[0] not in _SHOW_ALL:
        shows = words[0] in _SHOW_PATCH and any(map(_PATCH.fullmatch, words[1:]))
        return None if shows else ()
    return () if _is_quiet(words) else _named(words)


def _only_plain(words: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the words without options of a command that compares, if none of them can be a pattern."""
    options = [word for word in words[1:] if word.startswith("-")]
    paths = tuple(word for word in words[1:] if not word.startswith("-"))
    known = words[0] in {"diff", "log"} and _all_in(options, _PATCHES, _PATCHES_SHORT)
    return paths if known and "--" not in words and all(map(_is_plain_path, paths)) else ()


def _is_plain_path(path: str) -> bool:
    return _is_plain_glob(path) and not set(path) & set("*?[")


def _is_plain_glob(path: str) -> bool:
    return not path.startswith((":", "-")) and not set(path) & set("\\:@^~{")


def _is_quiet(words: tuple[str, ...]) -> bool:
    path = words[:2] if words[:2] in _QUIET else words[:1]
    options = [word for word in words[len(path) :] if word.startswith("-") and word != "--"]
    if path not in _QUIET or not _all_in(options, _QUIET[path], _NUMBER):
        return False
    plain = (word for word in words[1:] if not word.startswith("-"))
    if path == ("show",) and not all(map(_REVISION.fullmatch, plain)):
        return False  # `show` prints a file's object whatever its options are
    return path[0] not in _NEED_ONE or any(_name(option) in _NEED_ONE[path[0]] for option in options)


def _all_in(options: Iterable[str], known: frozenset[str], short: re.Pattern[str]) -> bool:
    return all(
        option in known or ("=" in option and f"{_name(option)}=" in known) or short.fullmatch(option)
        for option in options
    )


def _name(option: str) -> str:
    return option.partition("=")[0]


def _named(words: tuple[str, ...]) -> tuple[str, ...] | None:
    """Returns the paths after `--` if nothing else than their content can be shown."""
    if words[0] not in _NARROWED or "--" not in words:
        return None
    at = words.index("--")
    paths = words[at + 1 :]
    before = [word for word in words[1:at] if not word.startswith("-")]
    options = [word for word in words[1:at] if word.startswith("-")]
    if words[0] == "grep":
        before = before[1:]
        known = _all_in(options, _LINES, _LINES_SHORT)
    else:
        known = _all_in(options, _PATCHES, _PATCHES_SHORT)
    revisions = [name for word in before for name in re.split(r"\.{2,3}", word) if name]
    plain = all(map(_is_plain_glob, paths))
    return paths if paths and plain and known and all(map(_REVISION.fullmatch, revisions)) else None
