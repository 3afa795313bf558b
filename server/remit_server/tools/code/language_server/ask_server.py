"""Decides who answers a question about code: the editor, else a language server in the sandbox, else, for names,
tree-sitter (TOOL-07).

We start a server that the system provides with a fixed command line, and it cannot change or reach anything, so like
git it counts as a way of reading. A server of the project's own is a program of the project, so policy judges it as a
command.

`SERVERS` lists the known language servers; the first of them that a sandbox can see on this machine is asked.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import shlex
import shutil
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any

from remit_governance.secrets.cutting import shorten
from remit_governance.visible import visible
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.sandbox.ports import CommandOutput, CommandSpec
from remit_server.sandbox.visible.shims import is_hollow
from remit_server.tools.code.language_server import inside_client
from remit_server.tools.code.language_server.showing import Style, render_answer
from remit_server.tools.code.language_server.wire import MAX_ITEMS, parse_answer
from remit_server.tools.run.command_parts import project_environment
from remit_server.tools.spec import CommandPlan, Outcome, Plan, ReadPlan, Target, ToolContext
from remit_server.workspace.code import Answer, CodeQuery, Unavailable
from remit_server.workspace.content.files import read_bytes
from remit_server.workspace.content.text import Text, plain
from remit_server.workspace.trees.walk import Limits, walk

LANGUAGES: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys((".py", ".pyi"), "python"),
        **dict.fromkeys((".ts", ".mts", ".cts"), "typescript"),
        ".tsx": "typescriptreact",
        **dict.fromkeys((".js", ".mjs", ".cjs"), "javascript"),
        ".jsx": "javascriptreact",
        ".go": "go",
        ".rs": "rust",
        **dict.fromkeys((".c", ".h"), "c"),
        **dict.fromkeys((".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"), "cpp"),
    }
)
"""LSP's names of languages, by file suffix."""

_SCRIPTS = frozenset({"typescript", "typescriptreact", "javascript", "javascriptreact"})


@dataclass(frozen=True, slots=True)
class LanguageServer:
    """A program that speaks LSP on its standard streams, for these languages.

    `options` are its initialization options; they keep it from building or running anything of the project for an
    answer.
    """

    program: str
    languages: frozenset[str]
    arguments: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])


_PYTHON = frozenset({"python"})
_RUST_OPTIONS = {
    "cargo": {"buildScripts": {"enable": False}},
    "procMacro": {"enable": False},
    "checkOnSave": False,
}
SERVERS = (
    LanguageServer("basedpyright-langserver", _PYTHON, ("--stdio",)),
    LanguageServer("pyright-langserver", _PYTHON, ("--stdio",)),
    LanguageServer("pylsp", _PYTHON),
    LanguageServer("jedi-language-server", _PYTHON),
    LanguageServer("typescript-language-server", _SCRIPTS, ("--stdio",), {"disableAutomaticTypingAcquisition": True}),
    LanguageServer("gopls", frozenset({"go"})),
    LanguageServer("rust-analyzer", frozenset({"rust"}), options=_RUST_OPTIONS),
    LanguageServer("clangd", frozenset({"c", "cpp"}), ("--background-index=false",)),
)
"""The known servers. If several of them serve a language, the first one that is installed is used."""


@dataclass(frozen=True, slots=True)
class Found:
    """A server on this machine. With `own` it lies in the workspace, so it is the project's program, not the
    person's."""

    server: LanguageServer
    program: str
    environment: Mapping[str, str]
    own: bool

    @property
    def said(self) -> tuple[str, ...]:
        """The command as a person would type it."""
        return (self.server.program, *self.server.arguments)


def language_of(path: str) -> str | None:
    """Returns LSP's name of a file's language, or None if the suffix is unknown."""
    return LANGUAGES.get(PurePosixPath(path).suffix.lower())


def programs_for(language: str | None) -> tuple[str, ...]:
    """Returns the names of the programs that serve a language; without one, of all programs."""
    return tuple(each.program for each in SERVERS if language is None or language in each.languages)


def find_server(language: str | None, root: Path, *, own: bool) -> Found | None:
    """Returns a server for the language that a sandbox can see: one in the system's folders, else, with `own`, one of
    the project.

    The project's servers come last, because they are commands that policy judges.
    """
    for theirs in (False, True)[: 1 + own]:
        environment = project_environment(root, own=theirs)
        for server in SERVERS:
            if language in server.languages and (program := shutil.which(server.program, path=environment["PATH"])):
                inside = any(path.is_relative_to(root) for path in (Path(program), Path(program).resolve()))
                if (theirs or not inside) and not is_hollow(Path(program), environment):
                    return Found(server, program, environment, inside)
    return None


MAX_OPENED = 50
"""How many files a server opens at once to diagnose them."""
MAX_UNSAVED_CHARS = 1_000_000
MAX_OUTPUT_BYTES = 16_000_000
SECONDS = 40.0
_GRACE_S = 10.0
_WALK_S = 5.0
# An argument may have 128 KiB, and all arguments together a few megabytes.
_WORD_CHARS = 100_000
_MAX_WORDS = 10


@dataclass(frozen=True, slots=True)
class Ask:
    """A question, its name for people, the style of the answer, and a lookup by name for when nobody can answer."""

    query: CodeQuery
    about: str
    style: Style
    by_name: Callable[[], Answer] | None = None


def targets_of(query: CodeQuery, ctx: ToolContext) -> tuple[Target, ...]:
    """Returns the read of the queried path, and the command if only a server of the project's own could answer."""
    reads = Target("fs.read", ctx.resolve(query.path or "."))
    if ctx.code.available:
        return (reads,)
    found = find_server(_language(query, ctx), ctx.workspace.root, own=True)
    runs = Target("process.exec", command=found.said, cwd=ctx.resolve(".")) if found and found.own else None
    return (reads, runs) if runs else (reads,)


async def plan_for(ask: Ask, ctx: ToolContext) -> Plan:
    """Returns a plan for the editor's answer if it found something, else for a server's. Raises ToolError if nobody can
    answer."""
    said = await ctx.code.ask(ask.query) if ctx.code.available else None
    if isinstance(said, Answer) and said.findings:
        return _answer_plan(said, ask, ctx)
    # An editor that finds nothing may lack support for the language, so a server is asked as well if there is one.
    language = await asyncio.to_thread(_language, ask.query, ctx)
    found = find_server(language, ctx.workspace.root, own=not ctx.code.available)
    if found is not None:
        files = await asyncio.to_thread(_files, ask.query, language, ctx)
        spec = await asyncio.to_thread(_spec, ask.query, found, language, files[:MAX_OPENED], ctx)
        notes = _judged_files(ask.query, language, len(files), ctx)
        return CommandPlan(spec, shlex.join(found.said), lambda output: _read_output(output, found, ask, notes, ctx))
    if ask.by_name is not None:
        return _by_name(ask.by_name, ask, ctx)
    if isinstance(said, Answer):
        return _answer_plan(said, ask, ctx)
    raise _nobody(language, said)


def _answer_plan(answer: Answer, ask: Ask, ctx: ToolContext) -> ReadPlan:
    async def run() -> Outcome:
        return await asyncio.to_thread(render_answer, answer, ask.about, ask.style, ctx)

    return ReadPlan(run)


def _by_name(find: Callable[[], Answer], ask: Ask, ctx: ToolContext) -> ReadPlan:
    async def run() -> Outcome:
        return await asyncio.to_thread(lambda: render_answer(find(), ask.about, ask.style, ctx))

    return ReadPlan(run)


def _nobody(language: str | None, said: Unavailable | None) -> ToolError:
    programs = programs_for(language)
    editor = f"the editor cannot answer this ({said.why}), and" if said else "no editor can answer this, and"
    if not programs:
        return ToolError(
            "cannot answer this for this code",
            f"{editor} no language server is known for such files",
            "use search_files and read_file",
            code=ErrorCode.TOOL_UNAVAILABLE,
        )
    return ToolError(
        "cannot answer this for this code",
        f"{editor} no language server is installed where the sandbox can see it",
        "use search_files; or ask the person to install one in the system's folders, or with a version manager: "
        f"{', '.join(programs)}",
        code=ErrorCode.TOOL_UNAVAILABLE,
    )


def _language(query: CodeQuery, ctx: ToolContext) -> str | None:
    """Returns the language of the queried file, or the most frequent one in the queried folder."""
    if query.path is not None and not _is_folder(query, ctx):
        return language_of(query.path)
    files = walk(ctx.workspace, ctx.resolve(query.path or "."), Limits(seconds=_WALK_S))
    known = Counter(language for file in files if (language := language_of(file)))
    return known.most_common(1)[0][0] if known else None


def _spec(query: CodeQuery, found: Found, language: str | None, files: list[str], ctx: ToolContext) -> CommandSpec:
    """Returns the command that asks the server in the sandbox; neither can write to the workspace. Raises ToolError."""
    root = ctx.workspace.root
    python = shutil.which("python3", path=found.environment["PATH"])
    if python is None:
        raise ToolError(
            f"cannot ask `{found.server.program}`",
            "there is no `python3` in the system's folders, which a sandbox can see",
            "ask the person to install it there, or use search_files",
            code=ErrorCode.TOOL_UNAVAILABLE,
        )
    question = {
        "command": [found.program, *found.server.arguments],
        "options": dict(found.server.options),
        "root": str(root),
        "kind": query.kind,
        "path": query.path,
        "line": query.line,
        "character": query.character,
        "name": query.name,
        "files": files,
        "languages": dict(LANGUAGES),
        "texts": _unsaved_buffers(language, ctx),
        "seconds": SECONDS,
        "most": MAX_ITEMS,
    }
    packed = base64.b64encode(zlib.compress(json.dumps(question).encode())).decode()
    words = [packed[at : at + _WORD_CHARS] for at in range(0, len(packed), _WORD_CHARS)]
    if len(words) > _MAX_WORDS:
        raise ToolError(
            f"cannot ask `{found.server.program}`",
            "too many changes are not saved in the editor",
            "ask the person to save it",
        )
    program = Path(inside_client.__file__).read_text(encoding="utf-8")
    return CommandSpec(
        argv=(python, "-I", "-c", program, *words),
        cwd=root,
        workspace=root,
        environment=found.environment,
        timeout_s=SECONDS + _GRACE_S,
        max_output_bytes=MAX_OUTPUT_BYTES,
    )


def _files(query: CodeQuery, language: str | None, ctx: ToolContext) -> list[str]:
    """Returns the files that the server opens: the queried file, or in a folder all files to diagnose, or else one file
    from which the server finds the project."""
    if not _is_folder(query, ctx):
        return [query.path or "."]
    below = walk(ctx.workspace, ctx.resolve(query.path or "."), Limits(seconds=_WALK_S))
    files = (file for file in below if language_of(file) == language and ctx.permits("fs.read", file))
    return list(files if query.kind == "diagnostics" else itertools.islice(files, 1))


def _is_folder(query: CodeQuery, ctx: ToolContext) -> bool:
    return query.path is None or (ctx.workspace.root / query.path).is_dir()


def _judged_files(query: CodeQuery, language: str | None, files: int, ctx: ToolContext) -> tuple[str, ...]:
    """Returns a note on how many files of a folder were diagnosed."""
    if query.kind != "diagnostics" or not _is_folder(query, ctx):
        return ()
    return (f"it looked at {min(files, MAX_OPENED)} of {files} {language} files",)


def _unsaved_buffers(language: str | None, ctx: ToolContext) -> dict[str, str]:
    """Returns the texts of the language's buffers that differ from their files and that may be read."""
    texts: dict[str, str] = {}
    for relative in ctx.documents.paths():
        document = ctx.documents.get(relative)
        if document is None or language_of(relative) != language or not ctx.permits("fs.read", relative):
            continue
        if plain(document.text) != _read_saved(relative, ctx) and len(document.text) <= MAX_UNSAVED_CHARS:
            texts[relative] = document.text
    return texts


def _read_saved(relative: str, ctx: ToolContext) -> str | None:
    try:
        data = read_bytes(ctx.workspace, ctx.workspace.resolve(relative), 4 * MAX_UNSAVED_CHARS)
        return Text.decode(data, relative).content
    except ToolError:
        return None


def _read_output(output: CommandOutput, found: Found, ask: Ask, notes: tuple[str, ...], ctx: ToolContext) -> Outcome:
    """Returns the outcome of asking a server. Raises ToolError if its answer cannot be used."""
    name = found.server.program
    try:
        answer = parse_answer(json.loads(output.stdout), ask.query.kind, f"`{name}`")
    except (ValueError, RecursionError):
        answer = Unavailable("it took too long" if output.timed_out else "its answer cannot be used")
    if isinstance(answer, Unavailable):
        raise ToolError(
            f"`{name}` could not answer",
            shorten(visible(answer.why, "show"), 300) + _last_words(output, ctx),
            "use search_files, or read_file",
            code=ErrorCode.TOOL_UNAVAILABLE,
        )
    return render_answer(replace(answer, notes=(*answer.notes, *notes)), ask.about, ask.style, ctx)


def _last_words(output: CommandOutput, ctx: ToolContext) -> str:
    said = ctx.redact(output.stderr.decode(errors="replace")).strip().splitlines()  # before a cut could hide a secret
    return f"; it last printed: {shorten(visible(said[-1], 'show'), 200)}" if said else ""
