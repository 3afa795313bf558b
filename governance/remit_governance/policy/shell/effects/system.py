"""Judges for programs of the system, for git, for tools of clouds and for requests (`curl`, `wget`), whose effects a
row cannot tell.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from remit_governance.policy.shell.catalogue.rows import Effect, Program, strongest
from remit_governance.policy.shell.effects.program_row import Given, effect_in, in_every_reading

Words = Sequence[str]


def of_git(arguments: Words, row: Program) -> Effect | None:
    """Returns the effect of `git`: a `checkout` of files and a fetch with `+` overwrite and so lose what was there; the
    row says the rest."""
    more = in_every_reading("git", arguments, partial(_of_operands, "--" in arguments))
    return strongest([more, effect_in(row, "git", arguments)])


def _of_operands(dashes: bool, given: Given) -> Effect:
    if any(map(_HELPER.match, given.operands)):
        return "unknown"
    match given.operands:
        case ("checkout", *words):
            fresh = not given.options.isdisjoint({"-b", "--orphan", "--detach", "-t", "--track"})
            return "loses" if not fresh and _takes_files(words, dashes=dashes) else "reads"
        case ("fetch" | "pull", *words):
            return "loses" if any(word.startswith("+") for word in words) else "reads"
        case _:
            return "reads"


_HELPER = re.compile(r"[\w.+-]+::")
"""An address that names a program to run for the transfer, such as `ext::sh -c id`."""
_FILE_LIKE = re.compile(r"\.{1,2}|\./.*|.*/|.*[*?\[].*|:.*|(?:.*/)?[^/]*\.[A-Za-z]\w{0,9}")


def _takes_files(operands: Words, *, dashes: bool) -> bool:
    """Returns whether `checkout` would overwrite files with those of a commit."""
    many = len(operands) > (0 if dashes else 1)
    return many or any(_FILE_LIKE.fullmatch(word) for word in operands)


def of_remove(arguments: Words) -> Effect | None:
    """Returns `loses` if a pattern, or a program such as `find`, chooses the files, because then nobody named them."""
    return "loses" if any(set(word) & set("*?[{") for word in arguments) else None


def of_copy(arguments: Words) -> Effect | None:
    """Returns `loses` for a copy of `/dev/null`, which empties a file; copies that are links go to `of_link`."""
    if any(map(_LINKS.fullmatch, arguments)):
        return of_link(arguments)
    return "loses" if "/dev/null" in arguments[:-1] else None


_LINKS = re.compile(r"-[a-zA-Z]*[sl][a-zA-Z]*|--symbolic-link|--link")


def of_link(arguments: Words) -> Effect | None:
    """Returns `unknown` for a link to a place outside the project, because later writes to the link go there."""
    places = (word.partition("=")[2] if word.startswith("--") else word for word in arguments)
    return "unknown" if any(place.startswith(("/", "~")) for place in places) else None


_OPENS = re.compile(
    r"[ugoa]*[+=][rwxX]*[st].*|(?:[ao]|[ugoa]*[ao][ugoa]*)[+=][rxX]*w.*|[0-7]?[0-7]{2}[2367]|[1-7][0-7]{3}"
)
"""Modes that let anybody write a file, or make it run as its owner."""


def of_chmod(arguments: Words) -> Effect | None:
    """Returns `unknown` for a mode that opens a file to everybody, because no project needs that."""
    modes = [mode for word in arguments for mode in word.split(",")]
    return "unknown" if any(_OPENS.fullmatch(mode) for mode in modes) else None


def of_move(arguments: Words) -> Effect | None:
    """Returns `loses` for a move to a scratch folder or a device, because the file is gone after the command."""
    away = (word.partition("=")[2] or word for word in arguments)
    return "loses" if any(word.startswith(("/tmp", "/var/tmp", "/dev")) for word in away) else None  # noqa: S108


def of_pager(arguments: Words) -> Effect | None:
    """Returns `unknown` for a word with `+`, which a pager runs, and for options that name files, such as a log to
    write."""
    if any(word.startswith("+") for word in arguments):
        return "unknown"
    files = any(re.match(r"-[a-zA-Z]*[oOkT]|--(?:log|LOG|lesskey|tag)", word) for word in arguments)
    return "unknown" if files else None


def of_places(arguments: Words) -> Effect | None:
    """Returns `unknown` if a word may be an address from which a program that shows files would fetch, also without
    `https:`, such as `github.com/a/b`."""
    return "unknown" if any(map(_FETCHED.match, arguments)) else None


_FETCHED = re.compile(r"[A-Za-z][\w+.-]*:|[\w-]+(?:\.[\w-]+)+/|[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|io|dev)$|.*@")


def of_formula(arguments: Words) -> Effect | None:
    """Returns `unknown` for `brew` with a word that names a formula's file or another person's tap: it is Ruby code."""
    words = (word for word in arguments if not word.startswith("-"))
    return "unknown" if any("/" in word or word.endswith(".rb") for word in words) else None


def of_kill(arguments: Words) -> Effect | None:
    """Returns `changes` if processes are named by number, because they can be started again, and `reads` for `-l`; any
    other call, such as one for all processes, is `unknown`."""
    if arguments[:1] == ("-l",) or arguments[:1] == ["-l"]:
        return "reads"
    words = list(arguments)
    if words[:1] == ["-s"]:
        words = words[2:]
    elif words and re.fullmatch(r"-(?:[A-Z][A-Z0-9]*|\d{1,2})", words[0]) and len(words) > 1:
        words = words[1:]
    mild = bool(words) and all(re.fullmatch(r"%\d+|[2-9]|[1-9]\d+", word) for word in words)
    return "changes" if mild else "unknown"


def of_fzf(arguments: Words) -> Effect | None:
    """Returns `unknown` if a key may be bound to a command; a binding to names of actions is harmless."""
    return "unknown" if in_every_reading("fzf", arguments, _of_bindings) == "unknown" else None


def _of_bindings(given: Given) -> Effect:
    bound = (value for name, value in given.values if name == "--bind")
    return "reads" if all(map(_BINDINGS.fullmatch, bound)) else "unknown"


_BINDINGS = re.compile(r"[\w-]+:[a-z-]+(?:\+[a-z-]+)*(?:,[\w-]+:[a-z-]+(?:\+[a-z-]+)*)*")


def of_rsync(arguments: Words) -> Effect | None:
    """Returns `sends` if an operand has a colon, which names another machine."""
    return "sends" if any(":" in word for word in arguments if not word.startswith("-")) else None


def of_kubernetes(arguments: Words) -> Effect | None:
    """Returns `unknown` if a word has `secret` in it, and `asks` for a dry run of a subcommand in `_TRIED`."""
    if any("secret" in word.lower() for word in arguments):
        return "unknown"
    tried = {word for word in arguments if word.startswith("--dry")}
    told = {word for word in arguments if word.startswith(("--kubeconfig", "--raw", "-f=http", "http"))}
    if tried in ({"--dry-run=client"}, {"--dry-run=server"}) and arguments[0] in _TRIED and not told:
        return "asks"
    return None


_TRIED = frozenset(
    {"apply", "create", "delete", "expose", "label", "annotate", "patch", "replace", "run", "scale", "set"}
)
"""Subcommands of kubectl whose `--dry-run` only shows what they would do."""


def of_printenv(arguments: Words) -> Effect | None:
    """Returns `unknown` if the name of a variable says that it is a secret."""
    return "unknown" if any(_CLOUD_SECRET.search(word.lower()) for word in arguments) else None


_CLOUD_SECRET = re.compile(r"secret|token|credential|password|private|access-key|\bkeys?\b|kubeconfig|parameter|login")
_CLOUD_READS = re.compile(
    r"(?:describe|list|head|search|lookup)-[a-z0-9-]+|list|describe|show|ls|get-[a-z0-9-]+"
    r"|filter-log-events|validate-template|tail|read"
)


def of_cloud(arguments: Words) -> Effect | None:
    """Returns the effect of a cloud's tool by its verbs: `aws ec2 describe-instances`, `gcloud run services list` and
    `az group show` ask; what may concern secrets or change something is `unknown`."""
    operands = [word for word in arguments if not word.startswith("-")]
    if any(_CLOUD_SECRET.search(word.lower()) for word in arguments):
        return "unknown"
    if tuple(operands[:2]) in _CLOUD_OWN or operands[:1] in (["help"], ["info"], ["version"]):
        return "reads"
    verbs = [word for word in operands[1:5] if re.fullmatch(r"[a-z][a-z0-9-]*", word)]
    return "asks" if any(_CLOUD_READS.fullmatch(word) for word in verbs) and not _changing(verbs) else "unknown"


_CLOUD_OWN = frozenset({("configure", "list"), ("config", "list"), ("config", "get-value"), ("config", "get")})
"""Commands that only read settings on this machine."""


def _changing(verbs: Words) -> bool:
    return any(
        re.match(r"create|delete|update|put|set|remove|add|run|start|stop|deploy|import|cp|mv|rm|sync", v)
        for v in verbs
    )


def of_shell(arguments: Words) -> Effect | None:
    """Returns `reads` for `bash -n FILE`, which reads a script and runs nothing of it."""
    match list(arguments):
        case ["-n", file] if file[:1] not in {"-", "+"}:
            return "reads"
        case _:
            return None


def of_activate(arguments: Words) -> Effect | None:
    """Returns `runs`, which is right for activating a project's own virtual environment. Sourcing any other file has a
    doubt."""
    return "runs"


_SHOWN_BY_NAME = re.compile(r"(?:-n )?[a-z][\w.]*(?: [a-z][\w.]*)*|-a|-A")


def of_sysctl(arguments: Words) -> Effect | None:
    """Returns `reads` if all words are names without a value, because `sysctl` shows these."""
    return "reads" if _SHOWN_BY_NAME.fullmatch(" ".join(arguments)) else None


def of_media(arguments: Words) -> Effect | None:
    """Returns `unknown` if a word may be an address, a pipe or a protocol's name, for programs that convert files."""
    return "unknown" if any(set(word) & set("|@:") for word in arguments) else None


_LOCAL = re.compile(r"(?:https?://)?(?:localhost|127\.0\.0\.1|\[::1\]|0\.0\.0\.0)(?::\d+)?(?:/.*)?")
_PLAIN_URL = re.compile(r"(?:https?://)?[\w.-]+\.[a-z]{2,}(?::\d+)?(?:/[\w./~+%@:,=-]*)?")
_LONGEST_URL = 200
"""The most characters of an address; a longer one may well carry data."""

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
    """Returns `asks` for a plain GET of a plain address (`changes` if it writes a file), and `sends` for all that may
    carry data."""
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
    """Returns `changes` for a download from plain addresses, and `sends` if an option is not known."""
    return in_every_reading("wget", arguments, _of_download)


def _of_download(given: Given) -> Effect:
    known = given.options | given.unknown <= _WGET_KNOWN
    return "changes" if known and all(map(_is_place, given.operands)) else "sends"
