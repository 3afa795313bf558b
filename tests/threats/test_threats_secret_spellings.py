"""Secrets within strings of strings, addresses, colours and headers, and several in one line (SEC-01); what looks
random but is none stays readable."""

from __future__ import annotations

import base64
import json
import random
import string
import time
from collections.abc import Callable
from urllib.parse import quote

import pytest
from rows import rows

from remit_governance.secrets.redaction import Redactor

WORD = "q7Zx2LmP9wKf4RtB"
TOKENS = {
    "openai": f"sk-proj-{WORD}{WORD}",
    "github": f"ghp_{WORD}{WORD}abcd",
    "aws": "AKIAIOSFODNN7EXAMPLE",
    "slack": "xoxb-123456789012-abcdefGHIJKL",
    "gitlab": f"glpat-{WORD}abcd",
    "npm": f"npm_{WORD}{WORD}abcd",
    "hugging face": f"hf_{WORD}{WORD}ab",
    "google": f"AIza{WORD}{WORD}abc",
    "stripe": f"sk_live_{WORD}{WORD}",
    "jwt": f"eyJ{WORD}.eyJ{WORD}{WORD}.{WORD}{WORD}",
}
IN_JSON: Callable[[str], str] = json.dumps
SPELLINGS: dict[str, Callable[[str], str]] = {
    "quoted in JSON in a string": lambda text: IN_JSON(IN_JSON({"k": text})),
    "quoted three deep": lambda text: IN_JSON(IN_JSON(IN_JSON({"k": text}))),
    "behind a line's end in JSON": lambda text: IN_JSON(f"a\n{text}\nb"),
    "behind a tab two deep": lambda text: IN_JSON(IN_JSON(f"a\t{text}")),
    "behind an octal escape": lambda text: f"\\012{text}",
    "in colour": lambda text: f"\x1b[31m{text}\x1b[0m",
    "in colour, spelled": lambda text: f"\\u001b[01;31m{text}\\u001b[m",
    "in an address twice": lambda text: f"a%253D{text}",
    "behind an underscore": lambda text: f"a_{text}",
    "in HTML": lambda text: f"&quot;{text}&quot;",
    "quoted by numbers": lambda text: f"\\u0022{text}\\u0022",
}
BASIC = base64.b64encode(f"admin:{WORD}".encode()).decode().rstrip("=")
HELD: dict[str, tuple[str, str]] = {
    "basic": (f"Authorization: Basic {BASIC}==", BASIC),
    "basic, short": ("Authorization: Basic YTpodW50ZXIyeA==", "YTpodW50ZXIyeA"),
    "basic alone": (f'"Basic {BASIC}=="', BASIC),
    "basic in a string": (IN_JSON(IN_JSON({"Authorization": f"Basic {BASIC}=="})), BASIC),
    "basic in an address": (quote(f"Authorization: Basic {BASIC}==", safe=""), BASIC),
    "basic as bytes": (f"(b'authorization', b'Basic {BASIC}==')", BASIC),
    "header as an object": (f'{{"name":"Authorization","value":"Basic {BASIC}=="}}', BASIC),
    "docker's configuration": (f'{{"auths":{{"https://h/v1/":{{"auth":"{BASIC}=="}}}}}}', BASIC),
    "header without a kind": (f"Authorization: {WORD}", WORD),
    "bearer in an address": (f"Authorization=Bearer+{WORD}", WORD),
    "password three deep": (IN_JSON(IN_JSON(IN_JSON({"password": WORD}))), WORD),
    "password in HTML": (f"&quot;password&quot;:&quot;{WORD}&quot;", WORD),
    "password in colour": (f"\x1b[32mpassword\x1b[0m=\x1b[31m{WORD}\x1b[0m", WORD),
    "password in a table": (f"password        : {WORD}", WORD),
    "value beside its name": (f"- name: DB_PASSWORD\n  value: {WORD}", WORD),
    "value beside its name in JSON": (f'{{"name":"DB_PASSWORD","value":"{WORD}"}}', WORD),
    "value beside its name in XML": (f'<add key="password" value="{WORD}"/>', WORD),
    "defined": (f"define('DB_PASSWORD', '{WORD}');", WORD),
    "short name": (f"DB_PASS={WORD}", WORD),
    "of curl": (f"curl -u admin:{WORD} https://example.org", WORD),
    "of sshpass": (f"sshpass -p {WORD} ssh host", WORD),
    "of mysql": (f"mysql -u root -p{WORD} db", WORD),
    "of netrc": (f"machine host login admin password {WORD}", WORD),
    "cookie": (f"Cookie: theme=dark; sessionid={WORD}", WORD),
    "signed address": (f"https://a.blob.example/c?sv=1&sig={WORD}{WORD}{WORD}%3D", WORD),
    "long": (f"token={WORD * 20}", WORD),
    "begins like a path": (f"AWS_SECRET_ACCESS_KEY=/{WORD}{WORD}Qw8Er7T", WORD),
    "holds a stand-in": (f"API_KEY={WORD}foo{WORD}", WORD),
}
ADJACENT = [
    "client_secret={0}&password={1}&token={2}", "password={0};token={1};api_key={2}",
    "a:password={0} password={1} password={2}", "token=next_one&password={0}&token={1}&secret={2}",
    "password={0}\npassword={1}\npassword={2}", "--token {0} --password {1} --api-key {2}",
]  # fmt: skip
"""Texts in which what stands behind one secret is what stands before the next."""

_CHOOSE = random.Random(4)


def _any_of(letters: str, count: int) -> str:
    return "".join(_CHOOSE.choice(letters) for _ in range(count))


READABLE = [
    f"commit {_any_of('0123456789abcdef', 40)}",
    f"Merge {_any_of('0123456789abcdef', 7)}..{_any_of('0123456789abcdef', 7)}",
    "id: 3f2b8c1e-9d4a-4b7e-8c21-0a1b2c3d4e5f",
    f'"integrity": "sha512-{base64.b64encode(_CHOOSE.randbytes(64)).decode()}"',
    f'hash = "sha256:{_any_of("0123456789abcdef", 64)}"',
    f"--hash=sha256:{_any_of('0123456789abcdef', 64)} \\",
    f'checksum = "{_any_of("0123456789abcdef", 64)}"',
    f"github.com/a/b v1.2.3 h1:{base64.b64encode(_CHOOSE.randbytes(32)).decode()}",
    f"<img src='data:image/png;base64,iVBORw0KGgo{base64.b64encode(_CHOOSE.randbytes(900)).decode()}'>",
    f'"image/png": "iVBORw0KGgo{base64.b64encode(_CHOOSE.randbytes(900)).decode()}"',
    f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{_any_of(string.ascii_letters, 43)} anna@host",
    f"ETag: \"{_any_of('0123456789abcdef', 32)}\"",
    "basic understanding of authentication, Basic Authentication, basic YWJjZGVmZ2g=",
    '{"auth": "required"}, {"auth":"oauth2token"}, auth = "none"',
    "curl -u $USER:$PASSWORD https://example.org; docker run -u 1000:1000 x; mysql -uroot -p",
    '"password", "scram-sha-256"; ["token", "access_token1"]; ("authorization", "x-amz-content-sha256")',
    "- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef: {name: db, key: password}",
    "Cookie: theme=dark; lang=en", "&sig=short", "token_path = /var/run/secrets/v2/key1",
    "Authorization: AWS4-HMAC-SHA256", "the login and password fields, a login with password reset",
]  # fmt: skip


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("kind", TOKENS)
def test_SEC_01_a_token_is_found_however_it_is_spelled(kind: str, spelling: str) -> None:
    text = SPELLINGS[spelling](TOKENS[kind])
    assert TOKENS[kind] not in Redactor().redact(text)
    assert not Redactor().finds_nothing([text])


@rows("name", HELD)
def test_SEC_01_a_secret_is_found_by_where_it_stands(name: str) -> None:
    text, secret = HELD[name]
    for around in ("{}", "first\n{}\nlast\n", "echo {}"):
        assert secret not in Redactor().redact(around.replace("{}", text))
    assert not Redactor().finds_nothing([text])


@rows("form", ADJACENT)
def test_SEC_01_secrets_beside_each_other_are_all_found(form: str) -> None:
    secrets = ("a1B2c3D4e5", "Zx9Kq2Lm7p", "Qw8Er7Ty6u")
    redacted = Redactor().redact(form.format(*secrets))
    assert [secret for secret in secrets if secret in redacted] == []


@rows("text", READABLE)
def test_SEC_01_what_only_looks_random_stays_readable(text: str) -> None:
    assert Redactor().redact(text) == text


def test_SEC_01_random_values_are_not_taken_for_code() -> None:
    letters = string.ascii_letters + string.digits + "+/"
    values = [_any_of(letters, 40) for _ in range(2_000)]
    missed = [value for value in values if value in Redactor().redact(f"AWS_SECRET_ACCESS_KEY={value}")]
    assert len(missed) < 10


@pytest.mark.parametrize("piece", ['"token","', "curl -u a:", "Cookie: a=b;", "name: password\n", "basic ", "token=a"])
def test_SEC_03_time_grows_with_the_text_for_what_is_made_to_be_slow(piece: str) -> None:
    redactor = Redactor()

    def seconds(count: int) -> float:
        begun = time.process_time()
        redactor.redact(piece * count)
        return time.process_time() - begun

    seconds(10)
    assert seconds(40_000) < 12 * max(seconds(5_000), 0.02)
