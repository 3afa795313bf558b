"""Recognises secrets by their form alone: tokens of known services, and values in places where secrets are written,
such as `password=` (SEC-01) and in addresses (SEC-05). Nothing is guessed from how random a text looks.

Each form is an expression in RE2's syntax over UTF-8, which takes linear time. Its first group is kept, its second is
the secret, and a third group, if there is one, is the text after the secret, which is kept too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple, cast

import re2  # type: ignore[import-untyped]  # pyright: ignore[reportMissingTypeStubs]

_re2 = cast("Any", re2)


class Shape(NamedTuple):
    """A form: its expression, a function that tells a secret in the second group from a stand-in, and the markers.

    A text in which the form occurs holds at least one of the markers in lower case. A form that cannot be recognised by
    a few markers has none.
    """

    expression: str
    is_secret: Callable[[bytes], bool] = bool
    markers: tuple[bytes, ...] = ()


_START = r"(^|[^A-Za-z0-9_-]|\\[abefnrtv0]|\\x[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|[%=][0-9A-Fa-f]{2})"
"""What may stand before a token: no letter and no digit, unless an escape ends in it (`\\n`, `%3D`)."""
_TOKENS = (
    r"AIza[\w-]{35}",  # Google
    r"ya29\.[\w-]{30,}",
    r"GOCSPX-[\w-]{28}",
    r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,}",  # Stripe
    r"whsec_[A-Za-z0-9+/=]{32,}",
    r"SG\.[\w-]{22}\.[\w-]{43}",  # SendGrid
    r"hf_[A-Za-z0-9]{34,}",  # Hugging Face
    r"do[opr]_v1_[a-f0-9]{64}",  # DigitalOcean
    r"pypi-AgE[\w-]{50,}",
    r"rubygems_[a-f0-9]{48}",
    r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}",  # Shopify
    r"gl(?:rt|dt|ft|soat|cbt|ptt|agent|imt|oas)-[\w-]{20,}",  # GitLab
    r"glsa_[A-Za-z0-9]{32}_[a-f0-9]{8}",  # Grafana
    r"xapp-[0-9A-Za-z-]{30,}",  # Slack
    r"lin_api_[A-Za-z0-9]{40}",
    r"ntn_[A-Za-z0-9]{40,}",
    r"dckr_(?:pat|oat)_[\w-]{27,}",
    r"hv[sbr]\.[\w-]{24,}",  # Vault
    r"AGE-SECRET-KEY-1[0-9A-Z]{58}",
    r"gsk_[A-Za-z0-9]{48,}",
    r"xai-[A-Za-z0-9]{70,}",
    r"r8_[A-Za-z0-9]{37}",
    r"sbp_[a-f0-9]{40}",
    r"NRAK-[A-Z0-9]{27}",
    r"dapi[a-f0-9]{32}",
    r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}",
    r"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,}",  # Terraform
    r"ATATT3[\w=-]{100,}",  # Atlassian
    r"pscale_(?:tkn|pw|oauth)_[\w.-]{32,}",
    r"dp\.(?:pt|st|ct|sa)\.[A-Za-z0-9.]{40,}",
    r"pul-[a-f0-9]{40}",
    r"sntry[su]_[A-Za-z0-9+/=_]{40,}",
    r"npm_[A-Za-z0-9]{36}",
    r"[0-9]{8,10}:AA[\w-]{33}",  # Telegram
    r"[0-9a-f]{32}-us[0-9]{1,2}",  # Mailchimp
    r"A(?:BIA|CCA|GPA|IDA|ROA|NPA)[A-Z0-9]{16}",  # AWS
)
_HOOKS = r"((?:hooks\.slack\.com/(?:services|workflows)|discord(?:app)?\.com/api/webhooks)/)([\w/-]{30,})"
_KEY_DER = (
    r"MI[IJ][A-Za-z0-9+/]{2}[AQgw]IBA[AD]|MHcCAQEEI|MIGHAgEAMBMG|MC4CAQAwBQYDK2Vw|MHQCAQEEI|MIHcAgEBBEI"
    r"|b3BlbnNzaC1rZXktdjE"
)
_NAMES = (
    r"passw(?:or)?d|passphrase|pwd|secret|token|api[_-]?key|apikey|access[_-]?key|secret[_-]?key|account[_-]?key"
    r"|private[_-]?key|encryption[_-]?key|signing[_-]?key|auth[_-]?key|credentials?|_authToken|_auth|_password"
)
_ASSIGNED = (
    r"(?i)((?:^|[^A-Za-z0-9_.-])[A-Za-z0-9_.-]*(?:" + _NAMES + r")"
    r"(?:[_-]?(?:key|value|base64|hash|id|old|new|prod|test|dev)|s|[0-9])?"
)


def _is_literal(value: bytes) -> bool:
    """Tells whether a quoted text may be a real secret: it mixes letters with digits or signs, and is no stand-in, such
    as an example, and no code."""
    return _is_mixed(value) and _NOT_TEXT.search(value) is None and _STAND_IN.search(value) is None


def _is_plain_literal(value: bytes) -> bool:
    """Tells the same for a text without quotes. It may be code, so names, dotted names and numbers do not count."""
    return _is_literal(value) and _LIKE_CODE.fullmatch(value) is None


def _is_mixed(value: bytes) -> bool:
    letters = sum(1 for byte in value if chr(byte).isalpha())
    digits = sum(1 for byte in value if chr(byte).isdigit())
    signs = len(value) - letters - digits - sum(value.count(sign) for sign in (b"_", b"-", b".", b"=", b":", b"/"))
    return letters + digits >= 4 and bool(letters) and bool(digits or signs)


_NOT_TEXT = re.compile(
    # The beginnings of variables, paths, colours, template markers and operators; and calls, types and addresses.
    rb"^[$%&@<{\[\]()*#./\\:=|?!]|\$\{|\{[\w.{]|%\(|<%|<[^>]*>|\]\]|\\u|\(\)|\w\[|::|=[^=]|:$|\*$|://|^0x[0-9a-f]+$",
    re.IGNORECASE,
)
_STAND_IN = re.compile(
    rb"x{4,}|\*{3,}|\.{3}|change.?me|your|example|placeholder|dummy|sample|redacted|password|passwd|secret|token"
    rb"|\b(?:none|null|true|false|undefined|string|test)\b|foo|bar|12345|abcd?e?f?123|^(?:pass|pwd|pw|xyz|abc|repo)$",
    re.IGNORECASE,
)
_LIKE_CODE = re.compile(
    rb"[A-Za-z_$][A-Za-z_$-]*[0-9]{0,2}|[A-Za-z_$][\w$-]*(?:\.[A-Za-z_$][\w$-]*)+|[0-9.,_:-]+|[A-Z][A-Z0-9]*_[A-Z0-9_]+"
    rb"|[A-Z]+[0-9]{0,3}(?:[A-Z][a-z]+)+"
)


_AUTHORITY = r":(?:\\?/){2}"
_AUTHORITIES = (b"://", b":\\/\\/")
_HOST = r"[A-Za-z0-9\[_{$-]"
_VARIABLE = re.compile(
    # A variable, a template or a stand-in; or a port, and no password at all.
    rb"^[$&<\[*]|^%(?![0-9A-Fa-f]{2})|[$#]\{|\{[\w.{]|%\(|<|\(\)|^[{}.#]+$|^[0-9]{1,5}[?#,;)]"
)
LEAST_CHANGES = 4
_ALPHANUMERIC = re.compile(rb"[A-Za-z0-9]{12,}")
_DIGIT = re.compile(rb"[0-9]")
_CHANGES = re.compile(rb"(?<=[A-Za-z])[0-9]|(?<=[0-9])[A-Za-z]")


def _is_password(value: bytes) -> bool:
    """Tells whether the text between `:` and `@` of an address may be a real password: no variable, no stand-in. A
    digit makes a password of a word such as `secret`."""
    stands_in = _STAND_IN.search(value) is not None and _DIGIT.search(value) is None
    return len(value) >= 3 and _VARIABLE.search(value) is None and not stands_in


def _is_random(value: bytes) -> bool:
    """Tells whether the name before `@` in an address is a token: no name changes so often between letters and
    digits."""
    return max(len(_CHANGES.findall(run)) for run in _ALPHANUMERIC.findall(value) or [b""]) >= LEAST_CHANGES


SHAPES: Mapping[str, Shape] = MappingProxyType(
    {
        "private key": Shape(
            rf"(^[+-]?|[^A-Za-z0-9+/])((?:{_KEY_DER})[A-Za-z0-9+/=]{{32,}}"
            r"(?:(?:\r?\n|\\n)(?:[0-9]+\|)?[ \t>+-]*[A-Za-z0-9+/]{16,}={0,2})*"
            r"(?:(?:\r?\n|\\n)(?:[0-9]+\|)?[ \t>+-]*[A-Za-z0-9+/]{1,63}={1,2})?)",
            markers=(b"iba", b"mhcc", b"migh", b"mc4c", b"mhqc", b"mihc", b"b3bl"),
        ),
        "json web token": Shape(
            _START + r"(eyJ[\w-]{8,}\.eyJ[\w-]{4,}\.[\w-]{8,}|eyJ[\w-]{8,}(?:\.[\w-]*){4})", markers=(b"eyj",)
        ),
        "token": Shape(rf"{_START}({'|'.join(_TOKENS)})"),
        "webhook": Shape(_HOOKS, markers=(b"hooks",)),
        "token of an address": Shape(
            rf"({_AUTHORITY})([A-Za-z0-9._~-]{{16,}})((?::[^\s/@\"'<>`\\]*)?@{_HOST})", _is_random, _AUTHORITIES
        ),
        "password": Shape(rf"({_AUTHORITY}[^\s/:@\"'<>`\\]*:)([^\s/\"'<>`\\]+)(@{_HOST})", _is_password, _AUTHORITIES),
        "authorization": Shape(
            r"(?i)(authorization[\"']?\s*[:=,]\s*[\"'`]?(?:bearer|basic|token|apikey|digest|negotiate)\s+|\bbearer\s+)"
            r"([A-Za-z0-9._~+/-]{16,}={0,2})",
            _is_literal,
            (b"bearer", b"authorization"),
        ),
        "secret": Shape(
            _ASSIGNED + r"\\?[\"']?\]?\s?(?:=>|:=|==?|:)\s?[rbuf]?\\?[\"'`])([^\s\"'`\\]{6,200})(\\?[\"'`])",
            _is_literal,
        ),
        "password line": Shape(
            r"(?i)((?:^|[\s+>:|;&?-])[A-Za-z0-9_.-]*(?:passw(?:or)?d|passphrase|pwd)=)"
            r"([^\s\"'`\\(){}\[\]$<>,;]{6,200})(\r?$)",
            _is_literal,
        ),
        "secret value": Shape(
            _ASSIGNED + r"[ \t]?(?:=|:)[ \t]?)([^\s\"'`\\,;&(){}\[\]<>]{6,200})($|[\s&;,\"'`\\])",
            _is_plain_literal,
        ),
        "password option": Shape(
            rf"(?i)((?:^|[\s\"'\[])--?[a-z0-9-]*(?:{_NAMES})[\"']?,?[ \t]+[\"']?)([^\s\"'`\\,;&(){{}}\[\]<>]{{6,200}})",
            _is_plain_literal,
        ),
        "password element": Shape(
            rf"(?i)(<(?:[\w.-]*:)?[\w.-]*(?:{_NAMES})>\s*)([^<>\s]{{6,200}})(\s*</)",
            _is_literal,
        ),
        "encoded secret": Shape(
            rf"(?i)((?:{_NAMES})(?:%22)?%3[DA](?:%20|%22)*)([A-Za-z0-9._~!*+-]{{6,200}})",
            _is_plain_literal,
        ),
        "encoded password": Shape(
            r"(?i)(%3A%2F%2F[A-Za-z0-9._~+-]{0,100}%3A)((?:[A-Za-z0-9._~!*+-]|%(?:2[0-9B-E]|3[BDF]|5[BDEF]|7[BDE])){3,200})(%40)",
            _is_password,
            (b"%3a%2f%2f",),
        ),
    }
)
"""Kind of secret → its form."""

_MARKERS = (
    rf"(?i:bearer|authorization|{_NAMES})|:\\?/\\?/|(?i:%3A%2F%2F)|eyJ|hooks\.slack|webhooks|{_KEY_DER}|AIza|ya29\.|GOCSPX|k_(?:live|test)_"
    r"|whsec_|SG\.|hf_|_v1_|pypi-AgE|rubygems_|shp(?:at|ca|pa|ss)_|gl(?:[a-z]{2,5}-|sa_)|xapp-|lin_api_|ntn_|dckr_|hv[sbr]\."
    r"|AGE-SECRET|gsk_|xai-|r8_|sbp_|NRAK-|dapi[a-f0-9]|PMAK-|\.atlasv1\.|ATATT3|pscale_|dp\.(?:pt|st|ct|sa)\.|pul-[a-f0-9]"
    r"|sntry[su]_|npm_|:AA|-us[0-9]|A(?:BIA|CCA|GPA|IDA|ROA|NPA)[A-Z0-9]"
)
"""An expression that matches every text in which any of the forms occurs."""


_MEMORY = 16 * 1024 * 1024
"""The memory, in bytes, that RE2 may use for one compiled expression."""


def compile_bytes(expression: str) -> Any:
    """Compiles an expression in RE2's syntax that is searched for in bytes."""
    options = _re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    return _re2.compile(expression.encode(), options)


class _Compiled(NamedTuple):
    """The compiled expressions.

    `shapes` are all forms. `unmarked` matches any form without markers, and is searched once because most texts hold
    none. `marked` is `_MARKERS`. The others find private keys.
    """

    shapes: tuple[tuple[str, Shape, Any], ...]
    unmarked: Any
    marked: Any
    key_begins: Any
    key_in_lines: Any
    key_lines: Any


_KEY_BEGINS = rf"(?:^[+-]?|[^A-Za-z0-9+/])(?:{_KEY_DER})[A-Za-z0-9+/=]{{32,}}\s*$"
_KEY_MARKER = "-----BEGIN [A-Z0-9 ]*PRIVATE KEY"
_KEY_MARKS = (b"PRIVATE KEY", b"IBA", b"CAQ", b"AgE", b"b3B")
"""Every line in which a private key begins holds one of these. Searching for plain bytes is faster than for an
expression."""
_KEY_LINE = r"[ \t>+-]*(?:[0-9]+\|)?[A-Za-z0-9+/]+={0,2}[ \t]*\n"


@cache
def _compile_shapes() -> _Compiled:
    """Compiles the forms when they are first needed, because that takes a tenth of a second."""
    return _Compiled(
        tuple((name, shape, compile_bytes(f"(?m){shape.expression}")) for name, shape in SHAPES.items()),
        compile_bytes("(?m)" + "|".join(f"(?:{shape.expression})" for shape in SHAPES.values() if not shape.markers)),
        compile_bytes(_MARKERS),
        compile_bytes(_KEY_BEGINS),
        compile_bytes(f"(?m){_KEY_MARKER}|{_KEY_BEGINS}"),
        compile_bytes(f"(?:{_KEY_LINE})*"),
    )


def key_body_begins(line: bytes) -> bool:
    """Tells whether a line is the first line of a private key's body, even if the marker above it is missing."""
    return _compile_shapes().key_begins.search(line) is not None


def may_hold_key(text: bytes) -> bool:
    """Tells whether `find_key` could find anything in this text."""
    return any(mark in text for mark in _KEY_MARKS)


def find_key(lines: bytes, start: int) -> int:
    """Returns the start of the first line, from `start` on, in which a private key may begin (with its marker or with
    its body), or the length of `lines` if there is none. `start` is the start of a line. Takes linear time.
    """
    found = _compile_shapes().key_in_lines.search(lines, start)
    if found is None:
        return len(lines)
    # The first matched character may be the line feed that ends the line before.
    return lines.rfind(b"\n", start, found.start() + 1) + 1 or start


def skip_key_body(lines: bytes, start: int) -> int:
    """Returns the start of the first line, from `start` on, that cannot belong to the body of a private key. `start` is
    the start of a line."""
    end: int = _compile_shapes().key_lines.match(lines, start).end()
    return end


def may_hold_shapes(text: str) -> bool:
    """Tells whether `redact_shapes` could find anything in this text or in any part of it."""
    return _compile_shapes().marked.search(text.encode("utf-8", "surrogatepass")) is not None


def redact_shapes(text: str, *, keep_lines: bool) -> str:
    """Returns the text with each secret that has one of the forms replaced by its kind."""
    data = text.encode("utf-8", "surrogatepass")
    if _compile_shapes().marked.search(data) is None:
        return text
    lowered, unmarked = data.lower(), _compile_shapes().unmarked.search(data) is not None
    for name, shape, compiled in _compile_shapes().shapes:
        present = any(marker in lowered for marker in shape.markers) if shape.markers else unmarked
        if present and compiled.search(data) is not None:
            data = _redact(data, name, shape.is_secret, compiled, keep_lines)
    return data.decode("utf-8", "surrogatepass")


_KINDS = {
    "password line": "password", "secret value": "secret", "password option": "secret", "password element": "secret",
    "encoded secret": "secret", "encoded password": "password", "token of an address": "token",
}  # fmt: skip
"""What a person reads in place of a secret, if several forms are of one kind."""


def _redact(data: bytes, name: str, is_secret: Callable[[bytes], bool], compiled: Any, keep_lines: bool) -> bytes:
    label = f"[redacted {_KINDS.get(name, name)}]".encode()

    def replaced(match: Any) -> bytes:
        found: bytes = match.group(2)
        if not is_secret(found):
            whole: bytes = match.group()
            return whole
        behind = match.group(3) if compiled.groups > 2 else b""
        lines = b"\n" * found.count(b"\n") if keep_lines else b""
        before: bytes = match.group(1)
        return before + label + lines + (behind or b"")

    redacted: bytes = compiled.sub(replaced, data)
    return redacted
