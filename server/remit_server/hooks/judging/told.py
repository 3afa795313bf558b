"""Finds commands that print the environment, or settings of the person or of a daemon, both of which may have secrets
in them.

Options may stand before a subcommand, each perhaps with a value, and some programs take an abbreviation of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from remit_governance.policy.shell.options import forms_of
from remit_governance.policy.shell.programs import git_words

_ENVIRONMENT = "it shows the environment, which may contain secrets"
_SETTINGS = "it prints settings, which may contain secrets"
_OPENS = "its program may show the environment, or open other files"

_TELL: Mapping[str, tuple[tuple[str, ...], ...]] = MappingProxyType(
    {
        "docker": (
            *(("inspect",), ("compose",), ("config",), ("context", "inspect"), ("container", "inspect")),
            *(("image", "inspect"), ("service", "inspect"), ("volume", "inspect"), ("network", "inspect")),
            *(("swarm",), ("plugin", "inspect"), ("node", "inspect"), ("history",), ("image", "history")),
        ),
        "docker-compose": ((),),
        "podman-compose": ((),),
        "helm": (("get",), ("env",)),
        "history": ((),),
        "terraform": (("output",), ("show",), ("state", "show"), ("state", "pull"), ("console",)),
        "kubectl": (("config",),),
        "npm": (("config",), ("get",)),
        "yarn": (("config",),),
        "pip": (("config",), ("debug",)),
        "uv": (("pip", "config"),),
        "gcloud": (("config",), ("auth",)),
        "launchctl": (("getenv",), ("print",), ("export",)),
        "systemctl": (("show-environment",), ("show",), ("cat",)),
        "tmux": (("show-environment",), ("showenv",)),
        "poetry": (("config",),),
        "conda": (("config",), ("info",)),
        "composer": (("config",),),
        "bundle": (("config",), ("env",)),
        "cargo": (("config",),),
        "gem": (("env",), ("environment",)),
        "aws": (("configure",),),
        "gh": (("auth",), ("config",)),
        "defaults": (("read",), ("export",), ("find",)),
        "gsettings": (("list-recursively",),),
        "dconf": (("dump",), ("read",)),
        "php": (("-i",), ("--info",)),
    }
)
"""The first words after a program's name with which it prints settings."""
_SAME = {"nerdctl": "docker", "podman": "docker", "tofu": "terraform", "oc": "kubectl", "pnpm": "npm", "mamba": "conda"}
_SHORTENS = frozenset({"npm", "pnpm", "tmux"})
"""Programs that take the beginning of a subcommand's name for the name."""

_PRINTERS = frozenset({"printenv", "compgen", "envsubst"})
_DECLARERS = frozenset({"set", "export", "declare", "typeset", "readonly", "local"})
_ENV_VALUED = frozenset({"--unset", "--chdir", "--argv0"})
_QUERIES = frozenset({"jq", "gojq", "jaq", "yq", "xq", "tomlq"})
_QUERY_OPENS = re.compile(
    r"""(?<!["\w.@-])(?:env|strenv|envsubst)(?!["\w:])|\$ENV|(?<![\w.$"])(?:import|include)\b(?!\s*:)|\bload\w*\s*\("""
)
_QUERY_OPTION = re.compile(r"-[a-zA-Z]*[fL].*|--from-file.*|--library-path.*")

_SECRET_KEY = re.compile(r"(?i)extraheader|cookie|token|pass|secret|credential|proxy|apikey")
_GIT_LISTS = re.compile(r"-[a-z]*l[a-z]*|--l[a-z-]*|--get-(?:r|u).*|--blob.*|--regexp|--all|--url.*")


def what_it_tells(command: tuple[str, ...]) -> Iterator[str]:
    """Yields the doubts about a command that prints the environment or settings."""
    for program, *words in forms_of(command):
        if _prints_environment(program, words):
            yield _ENVIRONMENT
        if _prints_settings(program, words):
            yield _SETTINGS
        if program in _QUERIES and any(map(_query_opens, words)):
            yield _OPENS


def _prints_settings(program: str, words: Sequence[str]) -> bool:
    if program == "git":
        return _git_prints_settings(git_words(words))
    told = _TELL.get(_SAME.get(program, program), ())
    begins = list(_beginnings(words))
    return any(_is_told(tell, begin, cut=program in _SHORTENS) for tell in told for begin in begins)


def _beginnings(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yields the words from where the subcommand may begin: behind the options, each with or without a value."""
    yield tuple(words)
    starts, seen = [0], {0}
    while starts:
        at = starts.pop()
        if at < len(words) and words[at].startswith("-"):
            for after in {at + 1, at + 2} - seen:
                seen.add(after)
                starts.append(after)
        else:
            yield tuple(word for word in words[at:] if not word.startswith("-"))


def _is_told(tell: tuple[str, ...], words: tuple[str, ...], *, cut: bool) -> bool:
    if len(words) < len(tell):
        return False
    return all(has == want or (cut and want.startswith(has)) for want, has in zip(tell, words, strict=False))


def _git_prints_settings(words: Sequence[str]) -> bool:
    match list(words):
        case ["config", *rest]:
            named = [word for word in rest if not word.startswith("-")]
            lists = any(_GIT_LISTS.fullmatch(word) for word in rest) or named[:1] == ["list"]
            return lists or any(map(_SECRET_KEY.search, named))
        case ["var", *rest]:
            return any(_GIT_LISTS.fullmatch(word) for word in rest)
        case _:
            return False


def _query_opens(word: str) -> bool:
    """Returns whether a word of `jq` or `yq` is a program that looks at the environment or at other files, or names one
    that is in a file."""
    return bool(_QUERY_OPTION.fullmatch(word) if word.startswith("-") else _QUERY_OPENS.search(word))


def _env_runs_nothing(words: Sequence[str]) -> bool:
    at = 0
    while at < len(words) and (words[at].startswith("-") or "=" in words[at]):
        word = words[at]
        bundled = word[:1] == "-" and word[1:2] != "-" and len(word) > 1
        ends_in_value = bundled and word[-1] in "uCPa" and not set(word[1:-1]) & set("uCPaS")
        at += 2 if word in _ENV_VALUED or ends_in_value else 1
    return at >= len(words)


def _ps(words: Sequence[str]) -> bool:
    return any("e" in word if not word.startswith("-") else "E" in word for word in words)


def _declares(words: Sequence[str]) -> bool:
    asks = any(word[:1] == "-" and "p" in word for word in words)
    return asks or not any("=" in word for word in words)


def _sets(words: Sequence[str]) -> bool:
    return not words or list(words) in (["-o"], ["+o"])


_PRINTS: Mapping[str, Callable[[Sequence[str]], bool]] = MappingProxyType(
    {
        **dict.fromkeys(_DECLARERS, _declares),
        **dict.fromkeys(_PRINTERS, lambda _: True),
        **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), lambda words: any("ENVIRON" in word for word in words)),
        "env": _env_runs_nothing,
        "ps": _ps,
        "set": _sets,
    }
)


def _prints_environment(program: str, words: Sequence[str]) -> bool:
    if any("/proc/" in word and "environ" in word for word in words):
        return True
    prints = _PRINTS.get(program)
    return prints is not None and prints(words)
