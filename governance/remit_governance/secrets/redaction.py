"""Removes secrets from text before a model or a log sees it (SEC-01).

Secrets are: tokens with well-known prefixes, private-key blocks, text that has the form of a secret, matches of the
patterns in the policy in force, and the values of the server's own secret environment variables. Nothing is guessed
from entropy. Truncation comes after redaction, so that a cut leaves no half of a secret.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import lru_cache
from typing import Any, NewType, Protocol, TypeVar, cast
from urllib.parse import quote, quote_plus

from remit_governance.secrets.key_lines import may_hold_key_lines, without_key_lines
from remit_governance.secrets.secret_patterns import SecretPattern, finder
from remit_governance.secrets.secret_shapes import may_hold_shapes, redact_shapes

MINIMUM_SECRET = 8
"""The least characters of a secret value; shorter values of environment variables are words that occur everywhere."""

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL", re.IGNORECASE)
_PLACE_NAME = re.compile(r"_(?:FILE|PATH|DIR|SOCK|HOME|URL|ID)$", re.IGNORECASE)

# Each character can match in one way only, so that backtracking ends at once. Possessive groups are not used, because
# Python before 3.11.5 matches them wrongly and does not find the key.
_KEY_WORDS = r"[A-Za-z0-9+/=\s|:,.\\]*"
_KEY_BODY = rf"{_KEY_WORDS}(?:-(?!----){_KEY_WORDS})*"
_KEY_LINE = r"(?:\d+\|)?[A-Za-z0-9+/=]{16,}[ \t\r]*(?:\n|\\n|\Z)"
_WHOLE_KEY_LINE = re.compile(r"[ \t]*(?:\d+\|)?[A-Za-z0-9+/=]{1,100}[ \t\r]*\n")
_END_OF_KEY = "PRIVATE KEY"
_ODD = re.compile(r"\s|[^\x00-\x7f]")
_KEY_END = re.compile(r"-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----")
_QUOTED_LINE = r"[\"'](?:\d+\|)?[A-Za-z0-9+/=]{16,}(?:\\r)?(?:\\n)?[\"'][ \t,+.;)\\]*\r?\n?"
_START = (
    r"(?:(?<![A-Za-z0-9])|(?<=\\[abefnrtv0-7])|(?<=\\[0-7]{2})|(?<=\\[0-7]{3})|(?<=\\x[0-9A-Fa-f]{2})"
    r"|(?<=\\u[0-9A-Fa-f]{4})|(?<=[%=][0-9A-Fa-f]{2})|(?<=%25[0-9A-Fa-f]{2})|(?<=[0-9;\[][mK]))"
)
"""Where a token may begin: not within a word, but behind an escape that ends in a letter or a digit (`\\n`, `%3D`), or
behind a colour (`\\x1b[31m`)."""


def _at(begins: str) -> str:
    """Returns an expression for the place where a token may begin. Looking at how it begins first is three times as
    fast."""
    return f"(?={begins}){_START}"


PATTERNS: Mapping[str, str] = {
    # A body holds no quotes or brackets, so that source code that merely names the markers is left alone.
    "private key": (
        r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"
        rf"(?:{_KEY_BODY}-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"
        rf"|(?:\s|\\n)*{_KEY_LINE}(?:[ \t]*{_KEY_LINE})*"
        # The lines of source code that joins them: each in quotes of its own.
        rf"|(?:\\n)?[\"'][ \t,+.;\\]*\r?\n(?:(?:\d+\|)?[ \t]*{_QUOTED_LINE})+)"
        r"|-----BEGIN(?:(?:%20|\+)[A-Z0-9]+)*(?:%20|\+)PRIVATE(?:%20|\+)KEY-----[A-Za-z0-9%+/=]{16,}-*"
    ),
    # Not matched: `task-force`, which has a letter before `sk-`, and `sk-learn-style`, which has neither a digit nor a
    # long run of letters.
    "api key": _at("sk-") + r"sk-(?=[\w-]{0,100}(?:\d|[A-Za-z0-9]{20}))[\w-]{20,}",
    "github token": (
        _at("gh[opusr]_|github_pat_")
        + r"(?:gh[opusr]_(?=[A-Za-z0-9]{0,100}\d|[A-Za-z0-9]{36})[A-Za-z0-9]{20,}|github_pat_\w{22,})"
    ),
    "aws key": _at("A[KS]IA") + r"A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])",
    "slack token": _at("xox") + r"xox[a-z]-(?=[A-Za-z0-9-]{0,100}\d)[A-Za-z0-9-]{10,}",
    "gitlab token": _at("glpat-") + r"glpat-[\w-]{20,}",
    "npm token": _at("npm_") + r"npm_(?=[A-Za-z0-9]{0,100}\d|[A-Za-z0-9]{36})[A-Za-z0-9]{20,}",
}
"""Kind of secret → its pattern. Every pattern takes linear or bounded time."""

_MARKERS: Mapping[str, tuple[str, ...]] = {
    "private key": ("PRIVATE KEY", "PRIVATE%20KEY", "PRIVATE+KEY"),
    "api key": ("sk-",),
    "github token": ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    "aws key": ("AKIA", "ASIA"),
    "slack token": ("xox",),
    "gitlab token": ("glpat-",),
    "npm token": ("npm_",),
}
"""Kind of secret → markers, one of which every such secret contains. Looking for them is fifty times faster than
matching the pattern."""

_LONG = 256
"""The length of a text, in characters, from which RE2 finds the markers faster than `re`, in spite of its overhead for
each call."""


_Json = TypeVar("_Json")
Redacted = NewType("Redacted", str)
"""A text that a redactor returned. Only such a text may be cut (`cutting.py`)."""


class _Policy(Protocol):
    @property
    def redact(self) -> Sequence[SecretPattern]: ...


class InForce(Protocol):
    """Holds the policy in force, which has the person's own patterns."""

    @property
    def policy(self) -> _Policy:
        """The policy in force now; it may be another one later."""
        ...


class Redactor:
    """Redacts what `patterns` match, and the values in `secrets` in any usual encoding.

    The patterns of the policy that is `in_force` are read anew each time. Text that has the form of a secret is
    redacted as well, unless `patterns` are others than `PATTERNS`.
    """

    __slots__ = ("_any_marker", "_in_force", "_patterns", "_secrets", "_shapes", "_short_marker", "odd", "projects")

    def __init__(
        self,
        patterns: Mapping[str, str] = PATTERNS,
        secrets: Iterable[str] = (),
        in_force: InForce | None = None,
    ) -> None:
        self._in_force = in_force
        self.projects = True
        """Whether the patterns that a project brought are applied."""
        self._shapes = patterns is PATTERNS
        self._patterns = tuple(
            (kind, pattern, _MARKERS[kind] if PATTERNS.get(kind) == pattern else ("",))
            for kind, pattern in patterns.items()
        )
        markers = {marker for _, _, markers in self._patterns for marker in markers}
        self._any_marker = finder(markers)
        self._short_marker = re.compile("|".join(map(re.escape, sorted(markers)))).search
        secrets = tuple(secrets)
        self.odd = any(_ODD.search(secret) for secret in secrets)
        """Whether a secret of the environment has blanks or characters beyond ASCII: a word may be half of it."""
        spellings = sorted({s for secret in secrets for s in _spellings(secret)}, key=lambda s: (-len(s), s))
        self._secrets = re.compile("|".join(map(re.escape, spellings))) if spellings else None

    def for_audit(self) -> Redactor:
        """Returns the redactor for the records of the audit log: without the patterns of a project, which could
        otherwise hide from the log what was done (AUD-06)."""
        twin = copy(self)
        twin.projects = False
        return twin

    def redact(self, text: str, *, keep_lines: bool = False) -> Redacted:
        """Returns the text with each secret replaced by its kind, such as `[redacted github token]`.

        With `keep_lines`, the text after a secret of several lines keeps its line numbers.
        """

        def label(what: str, match: re.Match[str]) -> str:
            return f"[redacted {what}]" + "\n" * (match.group().count("\n") if keep_lines else 0)

        if self._secrets is not None:
            text = self._secrets.sub(lambda match: label("secret", match), text)
        present = self._present(text)
        if present:
            text = _join(present).sub(lambda match: label(_kind(present, match), match), text)
        if self._shapes and _END_OF_KEY in text:
            text = _without_ends(text, keep_lines=keep_lines)
        if self._shapes:
            text = redact_shapes(text, keep_lines=keep_lines)
            text = _without_key_lines(text, keep_lines=keep_lines)
        return Redacted(self._own(text, keep_lines=keep_lines))

    def redact_json(self, value: _Json) -> _Json:
        """Returns the JSON value with every string in it redacted, keys included, or the same object if
        `finds_nothing`."""
        return value if self.finds_nothing(_strings_in(value)) else map_strings(value, self.redact)

    def finds_nothing(self, texts: Iterable[str]) -> bool:
        """Tells by one search whether `redact` leaves each of the texts as it is. True is certain; False means that it
        may change some."""
        if any(self._own_patterns()):
            return False
        together = "\n".join(texts)
        if self._present(together) or self._holds_secret(together):
            return False
        return not (self._shapes and (may_hold_shapes(together) or _may_hold_key_lines(together)))

    def _holds_secret(self, text: str) -> bool:
        return self._secrets is not None and self._secrets.search(text) is not None

    def _present(self, text: str) -> tuple[tuple[str, str], ...]:
        """Returns the patterns that can match, because the text holds one of their markers."""
        if len(text) < _LONG:
            if self._short_marker(text) is None:
                return ()
        elif not self._any_marker(text.encode("utf-8", "surrogatepass")):
            return ()
        return tuple((kind, p) for kind, p, markers in self._patterns if any(m in text for m in markers))

    def _own_patterns(self) -> Iterator[SecretPattern]:
        patterns = () if self._in_force is None else self._in_force.policy.redact
        return (pattern for pattern in patterns if self.projects or not pattern.project)

    def _own(self, text: str, *, keep_lines: bool) -> str:
        """Redacts what the patterns of the policy in force match in the text that is left."""
        patterns = tuple(self._own_patterns())
        if not patterns:
            return text
        # The text may hold lone surrogates, which plain UTF-8 cannot encode.
        data = text.encode("utf-8", "surrogatepass")
        for pattern in patterns:
            data = pattern.redact(data, keep_lines=keep_lines)
        return data.decode("utf-8", "surrogatepass")


def _may_hold_key_lines(text: str) -> bool:
    return may_hold_key_lines(text.encode("utf-8", "surrogatepass"))


def _without_key_lines(text: str, *, keep_lines: bool) -> str:
    data = text.encode("utf-8", "surrogatepass")
    if not may_hold_key_lines(data):
        return text
    return without_key_lines(data, keep_lines=keep_lines)[0].decode("utf-8", "surrogatepass")


def _without_ends(text: str, *, keep_lines: bool) -> str:
    """Returns the text without the last lines of private keys whose first lines were cut off, as in a selection.

    The loop goes back from each end marker and looks at each line once. A regular expression would try again at every
    line that may belong to a key.
    """
    parts: list[str] = []
    at = 0
    for end in _KEY_END.finditer(text):
        begin = end.start()
        while (above := text.rfind("\n", at, begin - 1) + 1) >= at and above < begin:
            if _WHOLE_KEY_LINE.fullmatch(text, above, begin) is None:
                break
            begin = above
        if begin < end.start():
            gone = text[begin : end.end()]
            parts += [text[at:begin], "[redacted private key]", "\n" * (gone.count("\n") if keep_lines else 0)]
            at = end.end()
    return "".join((*parts, text[at:]))


@lru_cache(maxsize=256)
def _join(patterns: tuple[tuple[str, str], ...]) -> re.Pattern[str]:
    """Returns one expression for these patterns. Only patterns that can match are joined, because each further one is
    tried at every character of the text."""
    return re.compile("|".join(f"(?P<k{i}>{pattern})" for i, (_, pattern) in enumerate(patterns)))


def _kind(patterns: tuple[tuple[str, str], ...], match: re.Match[str]) -> str:
    return patterns[int((match.lastgroup or "k0")[1:])][0]


def secret_values(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the values of variables whose names say that they are secret, if they have at least `MINIMUM_SECRET`
    characters."""
    return tuple(
        value
        for name, value in environment.items()
        if len(value) >= MINIMUM_SECRET and _SECRET_NAME.search(name) and not _PLACE_NAME.search(name)
    )


def _strings_in(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            for key, item in cast("Mapping[str, Any]", value).items():
                yield key
                yield from _strings_in(item)
        case list() | tuple():
            for item in cast("Sequence[Any]", value):
                yield from _strings_in(item)
        case _:
            pass


def map_strings(value: Any, change: Callable[[str], str]) -> Any:
    """Returns a JSON value with every string in it changed, keys included."""
    match value:
        case str():
            return change(value)
        case Mapping():
            entries = cast("Mapping[str, Any]", value)
            return {change(key): map_strings(item, change) for key, item in entries.items()}
        case list() | tuple():
            return [map_strings(item, change) for item in cast("Sequence[Any]", value)]
        case _:
            return value


def _spellings(secret: str) -> set[str]:
    """Returns the secret as it is, and as encoded in JSON, URLs, hex and base64 (at each of the three alignments)."""
    if len(secret) < MINIMUM_SECRET:
        return set()
    data = secret.encode("utf-8", "surrogateescape")
    hexadecimal = data.hex()
    url = {quote(data, safe=""), quote(data), quote_plus(data)}
    plain = {secret, json.dumps(secret)[1:-1], hexadecimal, hexadecimal.upper()}
    plain |= url | {re.sub(r"%[0-9A-F]{2}", lambda m: m.group().lower(), u) for u in url}
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + data).decode().rstrip("=")
        # Leave out the characters at either end that also carry bits of the neighbouring bytes.
        start = (0, 2, 3)[shift]
        end = len(encoded) - (1 if (shift + len(data)) % 3 else 0)
        core = encoded[start:end]
        plain |= {core, core.replace("+", "-").replace("/", "_")}
    return plain
