"""Requests on a command line: what is asked for, and what is told by asking."""

from __future__ import annotations

import re
from collections.abc import Sequence

from remit_governance.policy.shell.catalogue.rows import Effect
from remit_governance.policy.shell.effects.program_row import Given, in_every_reading

_LOCAL = re.compile(r"(?:https?://)?(?:localhost|127\.0\.0\.1|\[::1\]|0\.0\.0\.0)(?::\d+)?(?:/.*)?")
_PLAIN_URL = re.compile(r"(?:https?://)?[\w.-]+\.[a-z]{2,}(?::\d+)?(?:/[\w./~+%@:,=-]*)?")
_LONGEST_URL = 200
"""Characters after which an address may well carry more than a place."""

_CURL_VALUES = frozenset(
    [
        *("--header", "--user-agent", "--max-time", "--connect-timeout", "--retry", "--retry-delay", "--write-out"),
        *("--output", "--request", "--max-redirs", "--retry-max-time", "--limit-rate", "--output-dir"),
    ]
)
_CURL_FLAGS = frozenset(
    [
        "--silent",
        "--show-error",
        "--fail",
        "--fail-with-body",
        "--location",
        "--head",
        "--include",
        "--verbose",
        "--compressed",
        "--insecure",
        "--http1.1",
        "--http2",
        "--progress-bar",
        "--no-progress-meter",
        "--globoff",
        "--ipv4",
        "--ipv6",
        "--retry-all-errors",
        "--retry-connrefused",
        "--no-buffer",
        "--remote-name",
        "--remote-header-name",
        "--create-dirs",
        "--version",
        "--help",
        "--tlsv1.2",
        "--proto-redir",
        "--parallel",
        "--http1.0",
        "--tlsv1",
        "-s",
        "-S",
        "-f",
        "-L",
        "-I",
        "-i",
        "-v",
        "-k",
        "-g",
        "-N",
        "-4",
        "-6",
        "-#",
        "-O",
        "-J",
        "-V",
        "-Z",
    ]
)
_TELLS = re.compile(r"(?:proxy-)?authorization|cookie|.*(?:key|token|secret|auth).*", re.IGNORECASE)


def of_curl(arguments: Sequence[str]) -> Effect:
    """A plain GET of a plain address asks; whatever may carry data sends."""
    return in_every_reading("curl", arguments, _of_request)


def _of_request(given: Given) -> Effect:
    if not all(map(_is_place, given.operands)) or not given.options | given.unknown <= _CURL_VALUES | _CURL_FLAGS:
        return "sends"
    if not all(name not in _CURL_VALUES or _tells_nothing(name, value) for name, value in given.values):
        return "sends"
    return "changes" if given.options & {"--output", "--remote-name"} or "-O" in given.unknown else "asks"


def _tells_nothing(name: str, value: str) -> bool:
    if name == "--request":
        return value in {"GET", "HEAD", "OPTIONS"}
    if name == "--header":
        return ":" in value and not value.startswith("@") and not _TELLS.fullmatch(value.partition(":")[0].strip())
    return not value.startswith("@") and "%output{" not in value


def _is_place(word: str) -> bool:
    return bool(_LOCAL.fullmatch(word)) or (len(word) <= _LONGEST_URL and _PLAIN_URL.fullmatch(word) is not None)


_WGET_KNOWN = frozenset(
    [
        *("--output-document", "--directory-prefix", "--timeout", "--tries", "--user-agent", "--wait", "--waitretry"),
        *("-nv", "-S", "--continue", "--timestamping", "--no-clobber", "-x", "-4", "-6", "--quiet", "--no-verbose"),
        *("--verbose", "--spider", "--show-progress", "--server-response", "--no-check-certificate", "--https-only"),
        *("--content-disposition", "--version", "--help", "-nd"),
    ]
)


def of_wget(arguments: Sequence[str]) -> Effect:
    """A download of a plain address changes a file; any option that is not known may send."""
    return in_every_reading("wget", arguments, _of_download)


def _of_download(given: Given) -> Effect:
    known = given.options | given.unknown <= _WGET_KNOWN
    return "changes" if known and all(map(_is_place, given.operands)) else "sends"
