"""Options, commands and single words that are not understood are reported, and never taken for something else
(CLI-01)."""

from __future__ import annotations

import argparse

import pytest
from command_line import CommandLine
from messages import SAYS

import remit_server.cli.commands.turns.ask as ask
from remit_server.cli.main import COMMANDS, FLAGS, SUBCOMMANDS, WholeWords, build_parser, is_prompt, parse_words

pytestmark = pytest.mark.slow

USAGE = 2


def test_an_option_is_taken_by_its_whole_name_only(remit: CommandLine) -> None:
    """Before `--mode` was an option, `--mode explore` asked a model named `explore`; an abbreviation must not do so
    again."""
    done = remit("--mod", "explore", "rename total to amount")
    assert done.code == USAGE
    assert "unrecognized arguments: --mod" in done.err
    for words in (
        ["model", "check", "--js"],
        ["policy", "replay", "--las", "3"],
        ["serve", "--tc", "x"],
        ["ask", "x", "--appr", "never"],
    ):
        done = remit(*words)
        assert (done.code, "unrecognized arguments: --" in done.err) == (USAGE, True), done


@pytest.mark.parametrize("command", COMMANDS)
def test_no_parser_completes_options(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Holds for every command and each of its subcommands."""
    made: list[argparse.ArgumentParser] = []
    init = WholeWords.__init__
    monkeypatch.setattr(WholeWords, "__init__", lambda self, **how: (made.append(self), init(self, **how))[1])
    with pytest.raises(SystemExit):
        parse_words([command, "--no-such-option"])
    assert len(made) >= 2
    assert not any(parser.allow_abbrev for parser in made)


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (("polcy",), "`remit policy`"),
        (("sandboxes",), "`remit sandbox`"),
        (("run-tools",), "`remit run-tool`"),
        (("--json", "polcy"), "`remit policy`"),
        (("models", "--json"), "`remit model`"),
        (("frobnicate",), "`remit help` lists them"),
        (("status",), "`remit"),
        (("provider", "list"), "`remit model list`"),
        (("plugins", "list", "--json"), "`remit plugin`"),
        (("tool", "show"), "`remit tools`"),
        (("skills", "list"), "`remit skill`"),
        (("aks", "say hello"), "`remit ask`"),
    ],
)
def test_one_word_that_is_no_command_is_an_error_and_no_prompt(
    remit: CommandLine, words: tuple[str, ...], near: str
) -> None:
    done = remit(*words, REMIT_MODEL="script:no.json")
    assert done.code == USAGE
    assert SAYS.there_is_no_command in done.err
    assert near in done.err


def test_help_with_a_command_behind_it_is_the_help_of_that_command(remit: CommandLine) -> None:
    for words in (["session", "undo"], ["policy"]):
        asked, plain = remit("help", *words), remit(*words, "--help")
        assert (asked.code, asked.out) == (0, plain.out)
        assert plain.out


def test_words_that_are_taken_for_subcommands_are_some(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    init = WholeWords.__init__
    monkeypatch.setattr(WholeWords, "__init__", lambda self, **how: (made.append(how["prog"]), init(self, **how))[1])
    for names in SUBCOMMANDS.values():
        for name in names:
            build_parser(name)
    assert {f"remit {name} {word}" for word, names in SUBCOMMANDS.items() for name in names} <= set(made)


@pytest.mark.parametrize(
    "words",
    [
        ("--", "policy"),
        ("--", "polcy"),
        ("--json", "--", "hello"),
        ("--", "tools", "list"),
        ("tools list",),
        ("ask", "hello"),
        ("hello!",),
    ],
)
def test_one_word_is_a_prompt_where_it_is_called_one(remit: CommandLine, words: tuple[str, ...]) -> None:
    (remit.workspace / "says.json").write_text('[{"text": "Good day."}]')
    done = remit(*words, REMIT_MODEL="script:says.json")
    assert done.code == 0, done
    assert "Good day." in done.out


def test_serve_takes_one_transport(remit: CommandLine) -> None:
    done = remit("serve", "--stdio", "--tcp", "127.0.0.1:0")
    assert (done.code, "not allowed with" in done.err) == (USAGE, True)


def test_the_value_of_an_option_is_no_command() -> None:
    """In an earlier version `--approve session` was taken for the command `session`."""
    parser = WholeWords()
    ask.add_arguments(parser)
    flags = {name for each in parser._actions if each.nargs == 0 for name in each.option_strings}
    assert flags == FLAGS - {"--version"}
    assert is_prompt(["--approve", "session", "rename it"])
    assert is_prompt(["--json", "--resume", "audit", "go on"])
    assert not is_prompt(["--json", "audit", "log"])
