"""Recognises secrets by their form alone: tokens of known services, and values in places where secrets are written,
such as `password=` (SEC-01) and in addresses (SEC-05). Nothing is guessed from how random a text looks.

Each form is an expression in RE2's syntax over UTF-8, which takes linear time. Its first group is kept, its second is
the secret, and a third group, if there is one, is the text after the secret, which is kept too.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple, cast
from urllib.parse import unquote_to_bytes

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


_START = (
    r"(^|[^A-Za-z0-9]|\\[abefnrtv0-7]|\\[0-7]{2,3}|\\x[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|[%=](?:25)?[0-9A-Fa-f]{2}"
    r"|[0-9;\[][mK])"
)
"""What may stand before a token: no letter and no digit, unless an escape (`\\n`, `%3D`) or a colour (`\\x1b[31m`) ends
in it."""
_QUOTE = r"(?:\\*[\"'`]|\\+(?:u00|x)2[27]|%(?:25)?2[27]|&(?:quot|apos|#0?3[49]|#x2[27]);)"
"""A quotation mark as it is, and as it is spelled within strings of any depth, addresses and HTML."""
_BLANK = r"(?:[ \t]|%20|\+)"
_COLOUR = r"(?:\x1b\[[0-9;]*[mK])*"
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
    r"|passwort|dockerconfigjson|x-(?:amz|goog)-signature|[_-](?-i:PASS|PW)"
)
_ASSIGNED = (
    r"(?i)((?:^|[^A-Za-z0-9_.-])[A-Za-z0-9_.-]*(?:" + _NAMES + r")"
    r"(?:[_-]?(?:key|value|base64|hash|id|old|new|prod|test|dev)|s|[0-9])?"
)


def _is_literal(value: bytes) -> bool:
    """Tells whether a quoted text may be a real secret: it mixes letters with digits or signs, and is no stand-in, such
    as an example, and no code."""
    text = value.lstrip(b"/") if _is_dense(value) else value  # one in 64 values in base64 begins like a path
    return _is_mixed(value) and _NOT_TEXT.search(text) is None and _STAND_IN.search(value) is None


def _is_plain_literal(value: bytes) -> bool:
    """Tells the same for a text without quotes. It may be code, so names, dotted names and numbers do not count."""
    return _is_literal(value) and _LIKE_CODE.fullmatch(value) is None


def _is_dense(value: bytes) -> bool:
    """Tells whether the text changes between letters and digits as often as base64, and no path, does."""
    return len(_CHANGES.findall(value)) >= LEAST_CHANGES and value.lower() != value != value.upper()


def _is_dense_literal(value: bytes) -> bool:
    return _is_dense(value) and _is_literal(value)


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
    rb"|\b(?:none|null|true|false|undefined|string|test)\b|(?<![a-z])(?:foo|bar)+(?![a-z])|12345|abcd?e?f?123"
    rb"|^(?:pass|pwd|pw|xyz|abc|repo)$",
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


def _is_name_and_password(value: bytes) -> bool:
    """Tells whether the text is a name and a password in base64, as HTTP's basic authentication sends them."""
    plain = unquote_to_bytes(value).rstrip(b"=").translate(_URL_SAFE)
    try:
        said = base64.b64decode(plain + b"=" * (-len(plain) % 4), validate=True).decode()
    except ValueError:
        return False
    return ":" in said and said.isprintable()


_URL_SAFE = bytes.maketrans(b"-_", b"+/")


def _is_random(value: bytes) -> bool:
    """Tells whether the name before `@` in an address is a token: no name changes so often between letters and
    digits."""
    return max(len(_CHANGES.findall(run)) for run in _ALPHANUMERIC.findall(value) or [b""]) >= LEAST_CHANGES


_HEADER = rf"authorization{_QUOTE}?(?:\s|%20)*(?:[:=,]|%3[AD])(?:\s|%20|\+)*[rbuf]?{_QUOTE}?"
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
            rf"(?i)({_HEADER}(?:bearer|basic|token|apikey|digest|negotiate){_BLANK}+|\bbearer{_BLANK}+)"
            r"([A-Za-z0-9._~+/-]{16,}={0,2})",
            _is_literal,
            (b"bearer", b"authorization"),
        ),
        "token of a header": Shape(
            rf"(?i)({_HEADER})([A-Za-z0-9._~+/-]{{16,}}={{0,2}})", _is_dense_literal, (b"authorization",)
        ),
        "basic": Shape(
            rf"(?i)(\bbasic(?: |%20|\+)+|\bauth{_QUOTE}\s*:\s*{_QUOTE})([A-Za-z0-9+/_-]{{8,}}(?:=|%3D){{0,2}})",
            _is_name_and_password,
            (b"basic", b'auth"', b"auth\\"),
        ),
        "secret": Shape(
            rf"{_ASSIGNED}{_QUOTE}?\]?[ \t]*(?:=>|:=|==?|:|%3A)\s?[ \t]*[rbuf]?{_QUOTE}{{1,3}})"
            rf"([^\s\"'`\\]{{6,}}?)({_QUOTE})",
            _is_literal,
        ),
        "named secret": Shape(
            rf"{_ASSIGNED}{_QUOTE},[ \t]*[rbuf]?{_QUOTE})([^\s\"'`\\]{{6,}}?)({_QUOTE})",
            _is_dense_literal,
        ),
        "value of a name": Shape(
            rf"(?i)(\b(?:name|key){_QUOTE}?\s?[:=]\s?{_QUOTE}?[A-Za-z0-9_.-]*(?:{_NAMES}){_QUOTE}?,?\s+?[ \t]*{_QUOTE}?"
            rf"value{_QUOTE}?\s?[:=]\s?{_QUOTE}?|\bname{_QUOTE}:{_QUOTE}[A-Za-z0-9_.-]*(?:{_NAMES}){_QUOTE},{_QUOTE}value"
            rf"{_QUOTE}:{_QUOTE})([^\s\"'`\\<>]{{6,}})",
            _is_literal,
        ),
        "password line": Shape(
            r"(?i)((?:^|[\s+>:|;&?-])[A-Za-z0-9_.-]*(?:passw(?:or)?d|passphrase|pwd)=)"
            r"([^\s\"'`\\(){}\[\]$<>,;]{6,})(\r?$)",
            _is_literal,
        ),
        "secret value": Shape(
            rf"{_ASSIGNED}{_COLOUR}[ \t]*(?:=|:){_COLOUR}[ \t]*{_COLOUR})([^\s\"'`\\,;&(){{}}\[\]<>|\x1b]{{6,}})"
            r"($|[\s&;,\"'`\\)}\]<|\x1b])",
            _is_plain_literal,
        ),
        "password option": Shape(
            rf"(?i)((?:^|[\s\"'\[])--?[a-z0-9-]*(?:{_NAMES})[\"']?,?[ \t]+[\"']?)([^\s\"'`\\,;&(){{}}\[\]<>]{{6,}})",
            _is_plain_literal,
        ),
        "option of a program": Shape(
            r"(\b(?:curl|wget)[ \t](?:[^\n|;&]*?[ \t])?(?:-u|-U|--user|--proxy-user)[ =]?[\"']?[^\s:\"'$]*:"
            r"|\bsshpass[ \t]+-p[ \t]*[\"']?|\bredis-cli\b[^\n|;&]*?[ \t]-a[ \t]+[\"']?"
            r"|\b(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n|;&]*?[ \t]-p[\"']?"
            r"|\b(?:machine\s+\S+|default)\s+login\s+\S+\s+password\s+)([^\s\"'`\\|;&<>]{3,})",
            _is_password,
            (b"curl ", b"wget ", b"sshpass ", b"redis-cli ", b"mysql", b"mariadb", b"login"),
        ),
        "cookie": Shape(
            rf"(?i)(cookie{_QUOTE}?[ \t]*[:,=][ \t]*{_QUOTE}?(?:[\w.-]+=[^;\s\"']*;[ \t]*)*?[\w.-]*"
            r"(?:sess(?:ion)?|sid|auth)(?:[_-]?id)?=)([A-Za-z0-9._%~+/-]{16,}={0,2})",
            _is_literal,
            (b"cookie",),
        ),
        "signature": Shape(r"([?&]sig=)([A-Za-z0-9+/%_-]{40,}={0,2})", markers=(b"sig=",)),
        "password element": Shape(
            rf"(?i)(<(?:[\w.-]*:)?[\w.-]*(?:{_NAMES})>\s*)([^<>\s]{{6,}})(\s*</)",
            _is_literal,
        ),
        "encoded secret": Shape(
            rf"(?i)((?:{_NAMES})(?:%22)?%(?:25)?3[DA](?:%20|%22)*)([A-Za-z0-9._~!*+-]{{6,}})",
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
    rf"(?i:bearer|authorization|\bbasic|auth[\\\"]|cookie|sig=|{_NAMES})|(?:curl|wget|redis-cli|sshpass) "
    rf"|mysql|mariadb|\blogin\s|:\\?/\\?/|(?i:%3A%2F%2F)|eyJ|hooks\.slack|webhooks|{_KEY_DER}|AIza|ya29\.|GOCSPX|k_(?:live|test)_"
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

    `shapes` are all forms, each with its markers. `unmarked` matches any form without markers, and is searched once
    because most texts hold none. `marked` is `_MARKERS`. The others find private keys.
    """

    shapes: tuple[tuple[str, Shape, Any, Any], ...]
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
        tuple(
            (name, shape, compile_bytes(f"(?m){shape.expression}"), _compile_markers(shape.markers))
            for name, shape in SHAPES.items()
        ),
        compile_bytes("(?m)" + "|".join(f"(?:{shape.expression})" for shape in SHAPES.values() if not shape.markers)),
        compile_bytes(_MARKERS),
        compile_bytes(_KEY_BEGINS),
        compile_bytes(f"(?m){_KEY_MARKER}|{_KEY_BEGINS}"),
        compile_bytes(f"(?:{_KEY_LINE})*"),
    )


def _compile_markers(markers: tuple[bytes, ...]) -> Any:
    return compile_bytes(f"(?i){'|'.join(re.escape(each.decode()) for each in markers)}") if markers else None


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
    unmarked = _compile_shapes().unmarked.search(data) is not None
    for name, shape, compiled, markers in _compile_shapes().shapes:
        present = unmarked if markers is None else markers.search(data) is not None
        if present and compiled.search(data) is not None:
            data = _redact(data, name, shape.is_secret, compiled, keep_lines)
    return data.decode("utf-8", "surrogatepass")


_KINDS = {
    "password line": "password", "secret value": "secret", "password option": "secret", "password element": "secret",
    "encoded secret": "secret", "encoded password": "password", "token of an address": "token",
    "named secret": "secret", "value of a name": "secret", "option of a program": "password",
    "basic": "authorization", "token of a header": "authorization",
}  # fmt: skip
"""What a person reads in place of a secret, if several forms are of one kind."""


def _redact(data: bytes, name: str, is_secret: Callable[[bytes], bool], compiled: Any, keep_lines: bool) -> bytes:
    label = f"[redacted {_KINDS.get(name, name)}]".encode()

    parts, shown, at = list[bytes](), 0, 0
    while (match := compiled.search(data, at)) is not None:
        found: bytes = match.group(2)
        if is_secret(found):
            parts += [data[shown : match.start(2)], label, b"\n" * (found.count(b"\n") if keep_lines else 0)]
            shown = match.end(2)
        # What stands behind one secret may be what stands before the next.
        at = match.end(2)
    return b"".join((*parts, data[shown:])) if parts else data
