"""Questions about single nodes of a command line's tree (CMD-01), and whether a variable that a command line sets can
change what a program does (CMD-02).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from tree_sitter import Node

from remit_governance.policy.shell.effects.judging import effect_of
from remit_governance.policy.shell.here import FED
from remit_governance.policy.shell.words import Word, resolve, spelled


def assigned_names(root: Node) -> Iterator[str]:
    """Yields the names of variables that get a value, once for each place that sets one.

    If the value is a number, `NAME number` is yielded as well. A name in a declaration such as `export` is yielded at
    least twice, so that it never counts as set once.
    """
    nodes = [root]
    while nodes:
        node = nodes.pop()
        if node.type in {"variable_assignment", "for_statement"}:
            names = [*map(spelled, node.children_by_field_name(_NAMED_BY[node.type]))]
            yield from names
            if node.type == "variable_assignment" and _is_number(node):
                yield from (f"{name} number" for name in names)
        elif node.type == "declaration_command":
            yield from re.findall(r"\w+", spelled(node)) * 2
        nodes.extend(node.named_children)


def _is_number(node: Node) -> bool:
    value = node.child_by_field_name("value")
    if value is None:
        return False
    is_sum = value.type == "arithmetic_expansion"  # a number if each name in it is a number
    return is_sum or spelled(value).isdigit() or resolve(value).vague == "number"


def is_certain(node: Node) -> bool:
    """Returns whether an assignment certainly runs, and runs in this shell and not in a subshell."""
    while True:
        parent, behind = node.parent, node.next_sibling
        if parent is None or (behind is not None and behind.type == "&"):
            return parent is None
        if parent.type == "list" and parent.children[0].id != node.id:
            return False
        if parent.type not in {"program", "list", "variable_assignments"}:
            return False
        node = parent


_TESTED = r"(?:\"?\$(?:\w+|\{\w+(?::?-[\w./-]*)?\})\"?|\"[\w./ -]*\"|'[\w./ -]*'|[\w./*-]+)"
_ONE_TEST = rf"(?:! )?(?:-[a-suw-zA-QS-Z] {_TESTED}|{_TESTED} (?:==?|!=) {_TESTED})"
_PLAIN_TEST = re.compile(rf"\[\[ {_ONE_TEST}(?: (?:&&|\|\|) (?:! )?-[a-suw-zA-QS-Z] {_TESTED})* \]\]", re.ASCII)


def is_plain_test(text: str) -> bool:
    """Returns whether a test in double brackets only looks for files and compares text.

    A shell that does not know double brackets would look for programs called `[[` and `-f`, and find none.
    """
    return _PLAIN_TEST.fullmatch(text) is not None


_NAMED_BY = {"variable_assignment": "name", "for_statement": "variable"}


def strange(node: Node) -> str:
    """Returns why a node of this kind is not certain."""
    names = {
        "command_substitution": "the output of a command becomes part of another",
        "process_substitution": "a command stands in for a file",
        "function_definition": "it defines a function, which could stand in for a program",
        "simple_expansion": "a variable is known only when it runs",
        "expansion": "a variable is known only when it runs",
        "string": "a text is known only when it runs",
        "unset_command": "it unsets variables",
    }
    return names.get(node.type, f"Remit cannot read `{node.type.replace('_', ' ')}`")


TAKE_NUMBERS = frozenset({"echo", "printf", "exit", "return", "test", "wait", "kill"})
"""Programs that are usually given `$?` or `$!`: another number does not change what they do."""


def feeds(redirect: Node) -> bool:
    """Returns whether a redirection feeds text of the command line itself to a program's input."""
    return redirect.type in {"heredoc_redirect", "herestring_redirect"} or spelled(redirect).endswith(f"<{FED}")


def is_shell(body: Node) -> bool:
    """Returns whether a command is a shell, which would run the text that it reads."""
    return body.type == "command" and any(
        child.type == "command_name" and posixpath.basename(spelled(child)) in _SHELLS for child in body.named_children
    )


_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "csh", "tcsh"})


def chosen(word: Word) -> list[Word]:
    """Returns the words that some shells make of this word, or the word itself."""
    return [Word(choice, word.pattern) for choice in word.choices] or [word]


RESERVED = frozenset(
    {
        *("if", "then", "elif", "else", "fi", "while", "until", "for", "do", "done", "case", "esac", "select"),
        *("function", "{", "}", "!"),
    }
)
"""Reserved words of shells, which are never the name of a program unless they are quoted."""


def harmless_there(node: Node, name: str, value: str) -> bool:
    """Returns whether an assignment before a command is harmless for that command, as in `PAGER=cat git log` and
    `IFS= read -r line`."""
    command = node.parent.child_by_field_name("name") if node.parent and node.parent.type == "command" else None
    if command is None or "+=" in spelled(node):
        return False
    if runs_project(name, value):
        words = [spelled(child) for child in _command_of(command) if child.type != "variable_assignment"]
        return effect_of(tuple(words)) == "runs"
    return harmless_value(name, value) or (name == "IFS" and spelled(command) == "read")


def _command_of(name: Node) -> list[Node]:
    return name.parent.named_children if name.parent is not None else []


def test_operands(node: Node) -> Iterator[Node]:
    """Yields the words of a test (operands and operators), whatever nodes the grammar makes of them."""
    nodes = [*reversed(node.children)]
    while nodes:
        child = nodes.pop()
        if child.type.endswith("_expression"):
            nodes.extend(reversed(child.children))
        elif child.is_named or child.type in {"=", "!=", "=="}:
            yield child


FREE_VARIABLES = frozenset(
    {
        *("CI", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "TERM", "COLUMNS", "LINES", "CARGO_TERM_COLOR"),
        *("LANG", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "LC_COLLATE", "LC_NUMERIC", "LC_TIME", "TZ"),
        *("NODE_ENV", "RUST_LOG", "RUST_BACKTRACE", "DEBUG", "VERBOSE", "LOG_LEVEL", "PORT", "APP_ENV", "ENVIRONMENT"),
        *("RAILS_ENV", "RACK_ENV", "MIX_ENV", "FLASK_ENV", "FLASK_DEBUG", "GOOS", "GOARCH", "CGO_ENABLED", "DRY_RUN"),
        *("DEBIAN_FRONTEND", "GIT_TERMINAL_PROMPT", "TF_IN_AUTOMATION", "PIP_DISABLE_PIP_VERSION_CHECK"),
        *("PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "PYTHONUTF8", "PYTHONFAULTHANDLER"),
        *("PYTHONIOENCODING", "PYTHONDEVMODE", "PYTHONASYNCIODEBUG", "PYTHONTRACEMALLOC", "PYTHONNOUSERSITE"),
        *("PIP_NO_INPUT", "PIP_NO_CACHE_DIR", "UV_OFFLINE", "RUST_TEST_THREADS", "CARGO_INCREMENTAL"),
        *("CARGO_NET_OFFLINE", "GOMAXPROCS", "GOARM", "GO111MODULE", "CLICOLOR_FORCE", "TF_LOG", "AWS_REGION"),
        *("AWS_DEFAULT_REGION", "HUSKY", "NEXT_TELEMETRY_DISABLED", "DO_NOT_TRACK", "DOTNET_NOLOGO"),
        *("DOTNET_CLI_TELEMETRY_OPTOUT", "ASPNETCORE_ENVIRONMENT", "DOTNET_ENVIRONMENT", "COMPOSER_MEMORY_LIMIT"),
        *("DOCKER_BUILDKIT", "COMPOSE_PROJECT_NAME", "BUILDKIT_PROGRESS", "SOURCE_DATE_EPOCH", "MIX_TEST_PARTITION"),
        *("HEADLESS", "UPDATE_SNAPSHOTS", "CYPRESS_CRASH_REPORTS", "BABEL_ENV", "TEST_ENV", "HOMEBREW_NO_AUTO_UPDATE"),
    }
)
"""Variables that change what a program shows, and not what it runs."""

_OWN_WORDS = frozenset(
    {
        *("A", "ALL", "APP", "B", "BAR", "BASE", "BAZ", "BIN", "BRANCH", "BUILD", "C", "CHANGED", "COMMIT"),
        *("COUNT", "CURRENT", "DATE", "DAY", "DEST", "DIFF", "DIR", "END", "EXAMPLE", "FILE", "FILES"),
        *("FILTER", "FIRST", "FOLDER", "FOO", "HASH", "HEAD", "I", "ID", "IDS", "INPUT", "ITEM", "ITEMS", "J"),
        *("JOBS", "K", "KIND", "LABEL", "LAST", "LATEST", "LINE", "LIST", "LOG", "M", "MAIN", "MAX", "MESSAGE"),
        *("MIN", "MODE", "MODULE", "MSG", "N", "NAME", "NAMES", "NEW", "NUM", "NUMBER", "OLD", "OUT", "OUTPUT"),
        *("PACKAGE", "PATTERN", "PID", "PKG", "PR", "PROJECT", "Q", "R", "REF", "REPO", "RESULT", "ROOT", "S"),
        *("SEED", "SERVICE", "SHA", "SIZE", "SOURCE", "SRC", "START", "STATUS", "SUITE", "TAG", "TARGET"),
        *("TEST", "TESTS", "TEXT", "THREADS", "TIME", "TODAY", "TOTAL", "TS", "URL", "VALUE", "VER", "VERSION"),
        *("W", "WORD", "WORKERS", "X", "Y", "Z"),
    }
)
"""Words of which people make the names of their own variables."""
_VALUES: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        **dict.fromkeys(
            ("PAGER", "GIT_PAGER", "MANPAGER", "SYSTEMD_PAGER", "GH_PAGER", "AWS_PAGER"), re.compile("|cat")
        ),
        **dict.fromkeys(("EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR"), re.compile("true|:|cat")),
        **dict.fromkeys(("CFLAGS", "CXXFLAGS"), re.compile(r"(?: ?-(?:O[0-3sg]|g|W[\w-]+|pedantic|std=[\w+]+))+")),
        "BROWSER": re.compile("none"),
        "GOFLAGS": re.compile(r"(?: ?-(?:mod=(?:mod|vendor|readonly)|count=\d+|race|v|trimpath|tags=[\w,]+))+"),
        "GOTOOLCHAIN": re.compile("local"),
        "MAKEFLAGS": re.compile(r"-j ?\d*"),
        "NODE_OPTIONS": re.compile(
            r"(?: ?--(?:max-old-space-size=\d+|no-warnings|trace-warnings|openssl-legacy-provider))+"
        ),
        "PYTEST_ADDOPTS": re.compile(r"(?: ?-(?:[qvxsl]+|-maxfail=\d+|-tb=\w+|-no-header))+"),
        "PYTHONWARNINGS": re.compile(r"default|error|always|module|once|ignore"),
        "RUSTFLAGS": re.compile(r"(?: ?(?:-D ?[\w-]+|-A ?[\w-]+|-C (?:target-cpu=native|debuginfo=\d|opt-level=\w)))+"),
        "RUSTDOCFLAGS": re.compile(r"(?: ?-[DA] ?[\w:-]+)+"),
        "XDEBUG_MODE": re.compile("off|coverage"),
        **dict.fromkeys(
            ("JAVA_OPTS", "MAVEN_OPTS", "GRADLE_OPTS", "SBT_OPTS"), re.compile(r"(?: ?-Xm[sx]\d+[kmgKMG])+")
        ),
    }
)
"""Harmless values of variables that could otherwise start a program or change what one does."""
_RUNS_PROJECT = re.compile(
    r"PYTHONPATH=(?:\.?/?\w[\w/-]*|\.)(?::(?:\.?/?\w[\w/-]*|\.))*|DJANGO_SETTINGS_MODULE=\w+(?:\.\w+)*"
)
"""Variables with values that load code of the project. A program that runs the project anyway can do no more with
them."""

_OWN_NAME = re.compile(r"[a-z][a-z0-9]{0,15}")
_TIED = frozenset({"path", "cdpath", "fpath", "manpath", "prompt", "argv", "status", "home", "term", "user", "shell"})


def harmless_variable(name: str) -> bool:
    """Returns whether setting this variable changes neither which program runs nor what it does."""
    if name in FREE_VARIABLES:
        return True
    if all(word.rstrip("0123456789") in _OWN_WORDS for word in name.split("_")):
        return True
    return _OWN_NAME.fullmatch(name) is not None and name not in _TIED and not name.endswith("proxy")


def harmless_value(name: str, value: str) -> bool:
    """Returns whether this value is harmless for a variable that could start a program or change what one does."""
    return name in _VALUES and _VALUES[name].fullmatch(value) is not None


def runs_project(name: str, value: str) -> bool:
    """Returns whether this variable makes a program load code of the project and no other code."""
    return _RUNS_PROJECT.fullmatch(f"{name}={value}") is not None and not value.startswith("/")
