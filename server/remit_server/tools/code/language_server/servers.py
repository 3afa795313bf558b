"""The language servers that are known, and the one of them that a sandbox can see here (TOOL-07)."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any

from remit_server.sandbox.visible.shims import is_hollow
from remit_server.tools.run.command_parts import project_environment

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
"""LSP's names of languages by the ending of a file's name."""

_SCRIPTS = frozenset({"typescript", "typescriptreact", "javascript", "javascriptreact"})


@dataclass(frozen=True, slots=True)
class LanguageServer:
    """A program that speaks LSP on its standard streams, for these languages.

    `options` are what it is told at its start: nothing of the project's is to be built or run for an answer.
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
"""Of two for one language, the first that is there."""


@dataclass(frozen=True, slots=True)
class Found:
    """A server on this machine. One that is `own` lies in the workspace: the project's program, not the person's."""

    server: LanguageServer
    program: str
    environment: Mapping[str, str]
    own: bool

    @property
    def said(self) -> tuple[str, ...]:
        """The command as a person would type it."""
        return (self.server.program, *self.server.arguments)


def language_of(path: str) -> str | None:
    """LSP's name of a file's language."""
    return LANGUAGES.get(PurePosixPath(path).suffix.lower())


def programs_for(language: str | None) -> tuple[str, ...]:
    """Returns the names of the programs that would do."""
    return tuple(each.program for each in SERVERS if language is None or language in each.languages)


def find_server(language: str | None, root: Path, *, own: bool) -> Found | None:
    """Returns the server for a language where a sandbox can see one: in the system's folders, else, with `own`, the
    project's.

    The project's come last, as they are commands for policy to judge.
    """
    for theirs in (False, True)[: 1 + own]:
        environment = project_environment(root, own=theirs)
        for server in SERVERS:
            if language in server.languages and (program := shutil.which(server.program, path=environment["PATH"])):
                inside = any(path.is_relative_to(root) for path in (Path(program), Path(program).resolve()))
                if (theirs or not inside) and not is_hollow(Path(program), environment):
                    return Found(server, program, environment, inside)
    return None
