"""Variables that a command line sets, and whether they change what a program does (CMD-02)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

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
"""Variables that change what is shown, and not what is run."""

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
"""Words of which people make names for their own variables."""
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
"""Values of variables that could start a program or change what one does, with which they do not."""
_RUNS_PROJECT = re.compile(
    r"PYTHONPATH=(?:\.?/?\w[\w/-]*|\.)(?::(?:\.?/?\w[\w/-]*|\.))*|DJANGO_SETTINGS_MODULE=\w+(?:\.\w+)*"
)
"""Variables by which code of the project is loaded: it is no more than what a program runs that runs the project."""

_OWN_NAME = re.compile(r"[a-z][a-z0-9]{0,15}")
_TIED = frozenset({"path", "cdpath", "fpath", "manpath", "prompt", "argv", "status", "home", "term", "user", "shell"})


def harmless_variable(name: str) -> bool:
    """Whether setting this variable changes nothing about which program runs, or how."""
    if name in FREE_VARIABLES:
        return True
    if all(word.rstrip("0123456789") in _OWN_WORDS for word in name.split("_")):
        return True
    return _OWN_NAME.fullmatch(name) is not None and name not in _TIED and not name.endswith("proxy")


def harmless_value(name: str, value: str) -> bool:
    """Whether this value of a variable that starts a program starts one that only prints."""
    return name in _VALUES and _VALUES[name].fullmatch(value) is not None


def runs_project(name: str, value: str) -> bool:
    """Whether this variable makes a program load code of the project, and of nobody else."""
    return _RUNS_PROJECT.fullmatch(f"{name}={value}") is not None and not value.startswith("/")
