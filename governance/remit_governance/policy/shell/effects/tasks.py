"""Tasks that a project defines: what they do is the project's own, and only their names say how far it goes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType

from remit_governance.policy.shell.catalogue.rows import Effect, Program, strongest
from remit_governance.policy.shell.effects.program_row import Given, effect_in, in_every_reading, tells_unknown

_FAR_REACHING = frozenset(
    [
        *("apply", "delete", "deploy", "deployment", "destroy", "down", "drop", "erase", "flush", "install", "kill"),
        *("migrate", "nuke", "promote", "provision", "publish", "purge", "push", "release", "remove", "reset"),
        *("restore", "rm", "rollback", "rollout", "ship", "teardown", "truncate", "undeploy", "uninstall"),
        *("unpublish", "upload", "wipe"),
    ]
)
"""Words of a task's name after which it may reach beyond the project, or take away what cannot be had back."""

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_TASK = re.compile(r"[\w.:/@+-]+")
_SETTING = re.compile(r"([A-Za-z_]\w*)[:?+]{0,2}=(.*)", re.DOTALL)
_PLAIN_VALUE = re.compile(r"[\w./:,+@%-]*(?: -[\w./:,+@%=-]+)*")

_BUILT_IN: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "npm": frozenset(),
        "pnpm": frozenset(
            [
                *("add", "dlx", "deploy", "exec", "link", "import", "setup", "env", "store", "server", "patch"),
                *("patch-commit", "login", "logout", "create", "config", "set", "publish", "unlink"),
                *("approve-builds", "self-update", "init", "pack", "recursive", "owner", "c", "whoami", "token"),
                "profile",
            ]
        ),
        "yarn": frozenset(
            [
                *("add", "dlx", "npm", "exec", "create", "global", "link", "login", "logout", "config", "set"),
                *("plugin", "import", "up", "upgrade", "policies", "unplug", "patch", "patch-commit", "owner", "tag"),
                *("team", "publish", "self-update", "unlink", "access", "stage", "sdks"),
            ]
        ),
        "bun": frozenset(
            [
                *("add", "a", "x", "create", "c", "publish", "link", "upgrade", "repl", "patch", "pm", "exec"),
                *("update", "init"),
            ]
        ),
    }
)
"""Package manager → subcommands of its own that no table allows; every other word is the name of a task."""


def of_task(name: str) -> Effect:
    """Returns what a task of the project does, by its name."""
    if not _TASK.fullmatch(name):
        return "unknown"
    if name.endswith((":status", ":check", ":dry-run", ":validate")):
        return "runs"
    return "unknown" if any(word.lower() in _FAR_REACHING for word in _WORD.findall(name)) else "runs"


def of_tasks(program: str, arguments: Sequence[str], table: Program) -> Effect:
    """Returns what a package manager or a runner of tasks does: what its row says, else what the names of the tasks
    say."""
    judge = _of_script if program in _BUILT_IN else _of_names
    said = effect_in(table, program, arguments)
    if said != (table.otherwise or "unknown") or tells_unknown(table, program, arguments):
        return said
    return in_every_reading(program, arguments, partial(judge, program))


def _of_names(program: str, given: Given) -> Effect:
    # A property with its value names no task; sbt's have their arguments in the same word.
    names = [word.split()[0] if program == "sbt" and word.strip() else word for word in given.operands]
    names = [name for name in names if not _SETTING.fullmatch(name)]
    return strongest(["runs", *map(of_task, names)])


def _of_script(program: str, given: Given) -> Effect:
    """`npm run NAME`; of the others also the name alone."""
    names = given.operands
    if names[:1] == ("workspace",):
        names = names[2:]
    if names[:1] in (("run",), ("run-script",)) and len(names) > 1:
        return of_task(names[1])
    return of_task(names[0]) if program != "npm" and names and names[0] not in _BUILT_IN[program] else "unknown"


def of_make(arguments: Sequence[str]) -> Effect:
    """`make TARGET NAME=value`: the project's own, unless it is told which shell to run or where to read its rules."""
    for word in arguments:
        setting = _SETTING.fullmatch(word)
        if setting and (setting[1] in _SHELL_SETTINGS or not _PLAIN_VALUE.fullmatch(setting[2])):
            return "unknown"
    return in_every_reading("make", arguments, _of_make)


_SHELL_SETTINGS = frozenset({"SHELL", "MAKEFLAGS", "MAKE", ".SHELLFLAGS"})


def _of_make(given: Given) -> Effect:
    rules = [value for name, value in given.values if name in {"--file", "--makefile", "-f"}]
    if any(word.startswith(("--ev", "-E")) for word in given.raw) or any(
        value == "-" or value.startswith(("/", "..")) for value in rules
    ):
        return "unknown"
    # Of what it would only print it runs what the project's rules always run.
    return "runs" if "--dry-run" in given.options else _of_names("make", given)


_GOALS = re.compile(
    r"(?:clean|validate|compile|test-compile|test|package|verify|integration-test|site|help|install"
    r"|(?:dependency|help|versions|spotless|checkstyle|spotbugs|pmd|surefire|failsafe|jacoco|formatter|enforcer):[\w:-]+"
    r"|spring-boot:run|quarkus:dev|exec:java|wrapper:wrapper|archetype:generate)"
)


def of_maven(arguments: Sequence[str]) -> Effect | None:
    """Goals of Maven; `deploy` and what else is not listed may reach anywhere."""
    return in_every_reading("mvn", arguments, _of_goals)


def _of_goals(given: Given) -> Effect:
    return "runs" if all(map(_GOALS.fullmatch, given.operands)) else "unknown"


def of_cargo(arguments: Sequence[str], table: Program) -> Effect | None:
    """`cargo +nightly fmt` is `cargo fmt`, and what `cargo watch -x` runs is a command of cargo."""
    if arguments[:1] in (("watch",), ["watch"]):
        inner = [*arguments[2::2]] if all(word == "-x" for word in arguments[1::2]) and len(arguments) % 2 else []
        return strongest([*(effect_in(table, "cargo", text.split()) for text in inner), "runs"]) if inner else None
    if arguments[:1] in (("fmt",), ["fmt"]) and "--" in arguments:
        return effect_in(table, "cargo", [word for word in arguments if word != "--"])
    return effect_in(table, "cargo", arguments[1:]) if arguments and re.fullmatch(r"\+[\w.-]+", arguments[0]) else None


def of_go_run(arguments: Sequence[str]) -> Effect | None:
    """`go run ./cmd/x` runs the project, `go run host/x@latest` somebody else's code."""
    if arguments[:1] not in (("run",), ["run"], ("install",), ["install"]):
        return None
    operands = [word for word in arguments[1:] if not word.startswith("-")]
    own = bool(operands) and (operands[0].startswith("./") or operands[0] == "." or operands[0].endswith(".go"))
    return None if own or (arguments[0] == "install" and not operands) else "fetches"


_TOOL = re.compile(r"([a-z][\w.-]*)(?:@[\w.^~-]+)?")
_SCOPED: Mapping[str, str] = MappingProxyType(
    {
        "@biomejs/biome": "biome",
        "@playwright/test": "playwright",
        "@angular/cli": "ng",
        "@swc/cli": "swc",
        "@stoplight/spectral-cli": "spectral",
    }
)


def of_tool_name(word: str) -> str | None:
    """Returns the program that a runner of tools is asked for: `eslint@9` is `eslint`."""
    if word in _SCOPED:
        return _SCOPED[word]
    found = _TOOL.fullmatch(word)
    return found[1] if found else None
