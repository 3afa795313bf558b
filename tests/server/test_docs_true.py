"""Everything that the documentation names exists: files, tests, make targets, commands, settings; its policies can be
loaded, and its output is real.

In the prose names stand in backticks or links. A name that cannot be found would mislead a newcomer.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from rows import rows

from remit_governance.permissions.permissions import Override, PermissionConfig
from remit_governance.permissions.remembered import parse_permissions
from remit_governance.policy.decision.builtin import BUILTIN
from remit_governance.policy.decision.extension import read_rule
from remit_governance.policy.decision.risk import risk_of
from remit_governance.policy.language.compile import Source, compile_policy
from remit_governance.policy.language.load import default_source, own_rows
from remit_governance.policy.language.policy_form import ConstraintsForm, MatchForm, RuleForm
from remit_governance.policy.shell.catalogue.files import OwnProgramForm
from remit_governance.values import Action
from remit_governance.workflow.states import State
from remit_server.cli.main import COMMANDS, main
from remit_server.contract import ErrorCode
from remit_server.models.remote.engines import ENGINES
from remit_server.transports.lsp.features.execute_command import COMMANDS as LSP_COMMANDS
from remit_server.transports.lsp.rpc.custom_methods import CUSTOM, CUSTOM_RESULTS

ROOT = Path(__file__).parents[2]
DOCS = ("ARCHITECTURE.md", "docs/recipes.md", "README.md", "CONTRIBUTING.md", "client-vscode/README.md")
GUIDES = tuple(sorted({path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")} - set(DOCS)))
"""Pages for users, in which most paths are the reader's own."""
ALL = (*DOCS, *GUIDES)
GENERATED = frozenset({"client-vscode/remit.vsix", "client-vscode/node_modules", "remit.vsix"})
"""Files that the documentation names, and that one of its commands makes."""
LEFT_OUT = frozenset({"node_modules", "__pycache__", "out", "dist", "build"})
SOURCES = (".py", ".ts", ".tsx", ".mjs", ".json", ".toml", ".sh", ".lua", ".el", ".yaml")

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
PATH = re.compile(r"(?:[\w.-]+/)*[\w.-]+/?")
FILE = re.compile(r".*\.(?:py|tsx?|mjs|md|ya?ml|json|toml|lua|el|sh|lock)")
COMMAND_LINE = re.compile(r"(?:\.venv/bin/)?remit(?: (.*))?")
IN_PROSE = re.compile(r"remit ([a-z-]+)(?: ([a-z|-]+))?(.*)")


@dataclass(frozen=True)
class Page:
    """One page; `fences` has its code, `prose` its text without the code."""

    name: str
    text: str

    @property
    def fences(self) -> list[tuple[str, str]]:
        return FENCE.findall(self.text)

    @property
    def prose(self) -> str:
        return FENCE.sub("", self.text)

    @property
    def spans(self) -> list[str]:
        return SPAN.findall(self.prose.replace("\n", " "))

    @property
    def console(self) -> list[str]:
        """Returns the lines that a reader would type."""
        typed = (
            line[2:]
            for kind, body in self.fences
            if kind == "console"
            for line in body.splitlines()
            if line[:2] == "$ "
        )
        return [re.sub(r"\s+# .*", "", line) for line in typed]


def page(name: str) -> Page:
    return Page(name, (ROOT / name).read_text(encoding="utf-8"))


@cache
def tree() -> tuple[str, ...]:
    """Returns every file and folder of the project as `/a/b`, without what is installed or built."""
    found: list[str] = []
    for folder, folders, files in os.walk(ROOT):
        hidden = {name for name in folders if name.startswith(".") and name not in {".ci", ".remit"}}
        folders[:] = [name for name in folders if name not in LEFT_OUT | hidden]
        relative = Path(folder).relative_to(ROOT).as_posix()
        found += [f"/{name}" if relative == "." else f"/{relative}/{name}" for name in (*folders, *files)]
    return tuple(found)


@cache
def sources(*suffixes: str) -> str:
    """Returns the text of all source files with these endings."""
    own = [path for path in tree() if path.endswith(suffixes) and not path.endswith((Path(__file__).name, "lock.json"))]
    return "\n".join((ROOT / path[1:]).read_text(encoding="utf-8") for path in own if (ROOT / path[1:]).is_file())


@cache
def words() -> frozenset[str]:
    """Returns every name and word in the source files."""
    return frozenset(re.findall(r"\w+", sources(*SOURCES)))


@cache
def known_tests() -> frozenset[str]:
    found: set[str] = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        found |= set(re.findall(r"^ *(?:async )?def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE))
    return frozenset(found)


def exists(path: str) -> bool:
    """Returns whether a file or folder of the project has this path, or a path that ends with it."""
    wanted = path.rstrip("/")
    return wanted in GENERATED or any(entry.endswith(f"/{wanted}") for entry in tree())


def anchors(file: Path) -> set[str]:
    """Returns the anchors of a page, which are made of its headings."""
    headings = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


# finders of mistakes in a page, one for each kind of name


def dead_links(page: Page) -> Iterator[str]:
    for target in LINK.findall(page.prose):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (ROOT / page.name).parent / name if name else ROOT / page.name
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
            yield target


def missing_paths(page: Page) -> Iterator[str]:
    top = {entry[1:] for entry in tree() if entry.count("/") == 1}
    for span in page.spans:
        if not PATH.fullmatch(span) or span.startswith(".venv"):
            continue
        ours = span.split("/")[0] in top and "/" in span
        named = ours or (page.name not in GUIDES and (span.endswith("/") or FILE.fullmatch(span)))
        if named and not exists(span):
            yield span


def missing_tests(page: Page) -> Iterator[str]:
    for span in page.spans:
        name = span.rpartition("::")[2]
        if re.fullmatch(r"test_\w+", name) and name not in {*known_tests(), State.TEST_WRITING}:
            yield span


def missing_targets(page: Page) -> Iterator[str]:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z][\w-]*):", makefile, re.MULTILINE))
    for line in (*page.spans, *page.console):
        found = re.match(r"make ([\w-]+)", line)
        if found and found[1] not in targets:
            yield line


def wrong_commands(page: Page) -> Iterator[str]:
    """Checks `remit …`: in prose the command, its subcommand and its options; in a console block the whole line."""
    yield from (
        span for span in page.spans if (found := IN_PROSE.fullmatch(span)) and not known_command(*found.groups())
    )
    for line in page.console:
        for part in re.split(r" && | \| ", line):
            words = COMMAND_LINE.fullmatch(re.sub(r" > \S+$", "", part.strip()))
            if words and not understood(shlex.split(words[1] or "")):
                yield line


def known_command(command: str, after: str | None, rest: str) -> bool:
    if command not in COMMANDS:
        return False
    words = {*(after or "").split("|"), *re.findall(r"--[a-z-]+", rest)} - {""}
    return words <= nested(command) | options(command)


@cache
def parser_of(command: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser()
    COMMANDS[command].command.add_arguments(parser)
    return parser


def nested(command: str) -> set[str]:
    """Returns the subcommands of a command, such as `log` and `verify`."""
    return {name for parser in subparsers(command) for name in parser}


def options(command: str) -> set[str]:
    """Returns the options of a command and of its subcommands."""
    parsers = [parser_of(command), *(each for parser in subparsers(command) for each in parser.values())]
    return {name for parser in parsers for action in parser._actions for name in action.option_strings}


def subparsers(command: str) -> list[dict[str, argparse.ArgumentParser]]:
    return [a.choices for a in parser_of(command)._actions if isinstance(a, argparse._SubParsersAction)]


def understood(words: list[str]) -> bool:
    """Returns whether the real program would accept the command line."""
    if not words or words[0] in {"--help", "--version"}:
        return True
    command, rest = (words[0], words[1:]) if words[0] in COMMANDS else ("ask", words)
    if command == "ask" and command != words[0] and len(words) == 1 and " " not in words[0]:
        return False  # a single bare word is an unknown command, not a prompt
    try:
        parser_of(command).parse_args(rest)
    except SystemExit:
        return False
    return True


def unknown_names(page: Page) -> Iterator[str]:
    """Yields editor commands and settings, methods, environment variables and error codes that the sources do not
    contain."""
    client = json.loads((ROOT / "client-vscode/package.json").read_text(encoding="utf-8"))["contributes"]
    known = {*LSP_COMMANDS, *CUSTOM, *CUSTOM_RESULTS, *client["configuration"]["properties"]}
    known |= {command["command"] for command in client["commands"]}
    known |= set(re.findall(r"'(remit\.client\.\w+)'", sources(".ts")))
    strings: dict[str, str] = json.loads((ROOT / "client-vscode/package.nls.json").read_text(encoding="utf-8"))
    titles = {f"Remit: {strings.get(each['title'].strip('%'), each['title'])}" for each in client["commands"]}
    fenced = "\n".join(body for _, body in page.fences)
    quoted = re.findall(r"[\"']([^\"'\n]+)[\"']", fenced)
    known |= set(re.findall(r"^    \"(remit/\w+)\": Custom", fenced, re.MULTILINE))  # which the recipe itself adds
    for name in (*page.spans, *quoted):
        dotted = re.fullmatch(r"remit[./][a-zA-Z./]+", name) and not name.endswith((".lua", ".el", ".vsix", ".md"))
        variable = re.match(r"\$?(REMIT_\w+)", name)
        if (dotted and name not in known) or (
            variable and not re.search(rf"\b{variable[1]}\b", sources(*SOURCES, "/run"))
        ):
            yield name
    yield from (span for span in page.spans if re.fullmatch(r"Remit: .+", span) and span not in titles)


def unknown_identifiers(page: Page) -> Iterator[str]:
    """Yields names of classes, functions and tables in ARCHITECTURE.md that the sources do not contain."""
    for span in page.spans if page.name == "ARCHITECTURE.md" else []:
        for name in re.findall(r"[A-Za-z_]\w+", span) if re.fullmatch(r"[A-Za-z_][\w.]*", span) else []:
            if name not in words():
                yield span


FINDERS: tuple[Callable[[Page], Iterator[str]], ...] = (
    dead_links,
    missing_paths,
    missing_tests,
    missing_targets,
    wrong_commands,
    unknown_names,
    unknown_identifiers,
)


@pytest.mark.parametrize("find", FINDERS, ids=lambda find: find.__name__)
def test_what_is_named_exists(find: Callable[[Page], Iterator[str]]) -> None:
    assert [(name, wrong) for name in ALL for wrong in find(page(name))] == []


@rows(
    ("find", "text"),
    [
        (dead_links, "[there](docs/no-such-page.md)"),
        (dead_links, "[here](README.md#no-such-heading)"),
        (missing_paths, "`server/remit_server/no_such_file.py`"),
        (missing_paths, "`governance/no_such_folder/`"),
        (missing_paths, "`no_such_file.py`"),
        (missing_tests, "`test_that_nobody_wrote`"),
        (missing_targets, "`make coffee`"),
        (missing_targets, "```console\n$ make coffee\n```"),
        (wrong_commands, "`remit dance`"),
        (wrong_commands, "`remit audit dance`"),
        (wrong_commands, "`remit policy explain|dance`"),
        (wrong_commands, "`remit demo --dance`"),
        (wrong_commands, "`remit policy check --dance FILE`"),
        (wrong_commands, "```console\n$ remit dance\n```"),
        (wrong_commands, "```console\n$ remit audit log && remit audit dance\n```"),
        (wrong_commands, "```console\n$ remit audit log --dance\n```"),
        (wrong_commands, "```console\n$ .venv/bin/remit policy explain\n```"),
        (unknown_names, "`remit.dance`"),
        (unknown_names, "`remit/dance`"),
        (unknown_names, "```lua\nexecute('remit.dance')\n```"),
        (unknown_names, "`Remit: Dance`"),
        (unknown_names, "`$REMIT_DANCE/policy.yaml`"),
        (unknown_identifiers, "`Dispatcher.dance`"),
    ],
)
def test_a_wrong_name_is_found(find: Callable[[Page], Iterator[str]], text: str) -> None:
    assert len(list(find(Page("ARCHITECTURE.md", text)))) == 1


# docs/policy.md and docs/policy-reference.md: their policies can be loaded, their tables are complete, and their output
# is that of the program

REFERENCE, SHORT = page("docs/policy-reference.md"), page("docs/policy.md")
FENCES = (*REFERENCE.fences, *SHORT.fences)
YAML = [body for kind, body in FENCES if kind == "yaml"]
NOT_POLICIES = [body for body in YAML if re.match(r"# \S*(?:permissions|programs)\.yaml\n", body)]
OTHERS = {body.splitlines()[0]: body for body in NOT_POLICIES}
POLICIES = [body for body in YAML if body not in NOT_POLICIES]


@rows("number", range(len(POLICIES)))
def test_every_policy_in_the_guide_loads(number: int) -> None:
    text = POLICIES[number]
    policy = compile_policy([Source("policy.yaml", text, project=text.startswith("# .remit/policy.yaml\n"))])
    assert policy.warnings == ()
    assert policy.layers[-1].rules or policy.redact


def test_the_rule_that_the_guide_adds_to_the_default_makes_a_policy() -> None:
    (added,) = re.findall(r"<<'END'\n(.*?)^END$", SHORT.text, re.MULTILINE | re.DOTALL)
    policy = compile_policy([Source("new.yaml", default_source().text + added)])
    assert policy.warnings == ()
    assert "package-index" in {rule.name for rule in policy.layers[-1].rules}


def test_the_standing_answers_in_the_guide_load_and_leave_out_no_key() -> None:
    answers = [body for body in NOT_POLICIES if body.startswith("# permissions.yaml\n")]
    read = [parse_permissions("permissions.yaml", body) for body in answers]
    assert all(each.allow or each.deny for each in read)
    assert len(read) == 3
    prose = REFERENCE.text.split("## Your standing answers")[1].split("\n## ")[0]
    assert {key for key in (*PermissionConfig.model_fields, *Override.model_fields) if key not in prose} == {"version"}


def test_CMD_10_the_rows_of_programs_in_the_guide_do_what_it_says_and_leave_out_no_key() -> None:
    own = own_rows([Source("programs.yaml", OTHERS["# ~/.config/remit/programs.yaml"])])
    lines = (
        "deploytool -c x status",
        "deploytool apply --dry-run",
        "deploytool push",
        "terraform plan",
        "terraform destroy",
    )
    said = [risk_of(Action("process.exec", script=line), own) for line in lines]
    assert said == ["low", "medium", "high", "low", "high"]
    prose = REFERENCE.text.split("### What programs do")[1].split("\n### ")[0]
    assert {key for key in OwnProgramForm.model_fields if key not in prose} == set()


def rows(section: str) -> set[str]:
    """Returns the names in backticks in the first column of the tables in a section of the reference."""
    body = re.split(rf"^#+ {re.escape(section)}$", REFERENCE.text, flags=re.MULTILINE)[1]
    cells = re.findall(r"^\| ([^|]*) \|", re.split(r"^#", body, flags=re.MULTILINE)[0], re.MULTILINE)
    return {name for cell in cells for name in SPAN.findall(cell)}


def test_the_guide_lists_what_a_policy_may_say_and_nothing_else() -> None:
    assert rows("One rule") == {field.alias or name for name, field in RuleForm.model_fields.items()}
    assert rows("Conditions") == set(MatchForm.model_fields)
    assert rows("Constraints of an allow") == set(ConstraintsForm.model_fields)
    assert rows("Built-in rules") == {rule.name for rule in BUILTIN.rules}


def examples() -> list[tuple[str, str]]:
    """Returns the command lines of both pages with the output that the page shows below them."""
    blocks = "\n".join(body for kind, body in FENCES if kind == "console")
    return re.findall(r"^\$ remit (policy .*)\n((?:(?!\$ ).+\n)+)", blocks, re.MULTILINE)


@pytest.mark.parametrize(("command", "output"), examples())
def test_the_guide_shows_what_is_printed(
    command: str, output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "policy.yaml").write_text(POLICIES[0])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REMIT_CONFIG_DIR", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    if " check " in command:
        (tmp_path / "policy.yaml").write_text(BROKEN)
    main(shlex.split(command))
    assert capsys.readouterr().out.replace(str(tmp_path), "~/.config/remit") == output


BROKEN = next((body for kind, body in FENCES if kind == "text"), "")
"""The policy with mistakes in it that the guide checks."""


def test_the_rule_in_the_guide_is_one() -> None:
    (text,) = [body for kind, body in FENCES if kind == "python"]
    assert read_rule("rules/office-hours.py", "office-hours", text).syscalls == {"fs.write"}


def test_there_are_examples() -> None:
    assert len(POLICIES) >= 2
    assert len(examples()) >= 6
    assert BROKEN


# docs/editors/, docs/environment.md and docs/troubleshooting.md


def test_the_guide_lists_every_setting_and_variable() -> None:
    text = "".join(page(name).text for name in GUIDES if name.startswith(("docs/editors/", "docs/environment")))
    client = json.loads((ROOT / "client-vscode/package.json").read_text(encoding="utf-8"))["contributes"]
    settings = (ROOT / "server/remit_server/runtime/settings.py").read_text(encoding="utf-8")
    wanted = {*client["configuration"]["properties"], *LSP_COMMANDS, *CUSTOM, *CUSTOM_RESULTS}
    wanted |= set(re.findall(r'"(REMIT_\w+)"', settings))
    assert [name for name in sorted(wanted) if f"`{name}`" not in text] == []


def test_troubleshooting_names_real_error_codes() -> None:
    first = re.findall(r"^\| ([^|]*) \|", page("docs/troubleshooting.md").text, re.MULTILINE)
    codes = {name for cell in first for name in SPAN.findall(cell) if "_" in name}
    assert codes
    assert codes <= {code.value for code in ErrorCode}


def test_the_guide_tells_how_each_engine_is_held() -> None:
    rows = re.findall(
        r"^\| ((?:`[\w.]+`(?:, )?)+) \| ([^|]+) \| ([^|]+) \| (\d) \|$", page("docs/models.md").text, re.MULTILINE
    )
    told = {
        name: (intent.strip(), tools.strip(), int(requests))
        for names, intent, tools, requests in rows
        for name in re.findall(r"`([\w.]+)`", names)
    }
    words = {
        "schema": "JSON schema",
        "forced": "forced choice",
        "allowed": "allowed tools",
        "checked": "checked by Remit alone",
    }
    assert told == {name: (words[row.intent], words[row.tools], row.requests) for name, row in ENGINES.items()}
