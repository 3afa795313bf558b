"""Secrets that only their form gives away, on every way out of a real server (SEC-01); other text is left alone."""

from __future__ import annotations

import json

import pytest
from rows import rows
from running_server import RunningServer, what_is_kept

from remit_governance.secrets.redaction import Redactor

HEADER, PAYLOAD = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9", "eyJzdWIiOiJhZG1pbiIsImlhdCI6MTUxNjIzOTAyMn0"
JWT = f"{HEADER}.{PAYLOAD}.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c"
BODY = ["MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"]
BODY += [f"MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYE{n:02d}" for n in range(12)]
BODY += ["t9Us8cKjMzEfYyj="]
SECRETS = {
    "jwt": (f"session={JWT}", JWT),
    "url": ("git clone https://deploy:Tr0ub4dor-9@git.internal/app.git", "Tr0ub4dor-9"),
    "database": ("DATABASE_URL=postgres://app:s3cr3tpw@db.internal:5432/app", "s3cr3tpw"),
    "database-without-user": ("redis://:hunter2x@cache:6379/0", "hunter2x"),
    "url-weak": ("https://anna:secret123@host/", "secret123"),
    "url-token": ("https://a1b2C3d4E5f6A7b8C9d0@git.internal/app", "a1b2C3d4E5f6A7b8C9d0"),
    "url-token-and-word": ("https://0123abcd4567ef89a0b1:x-oauth-basic@host/a.git", "0123abcd4567ef89a0b1"),
    "url-short-token": ("origin\thttps://user:ghp_x@host/a.git (fetch)", "ghp_x"),
    "url-signs": ("https://anna:a=b[9(x)!@host/", "a=b[9(x)!"),
    "url-json": ('{"url":"https:\\/\\/anna:hunter2x@host\\/a"}', "hunter2x"),
    "url-long": (f"https://{'u' * 150}:{'pq9' * 100}@host/", "pq9pq9"),
    "url-instead": ("url.https://x:tok9zz@host/.insteadof=https://host/", "tok9zz"),
    "key-middle": ("\n".join(BODY[5:8]), BODY[6]),
    "key-line": (BODY[6], BODY[6]),
    "key-openssh": (f"{BODY[7]}AbC123\n{BODY[8]}AbC123", BODY[8]),
    "url-with-at": ("amqp://svc:p4ss@w0rd@mq.internal/", "p4ss@w0rd"),
    "password": ("password=hunter2Zq", "hunter2Zq"),
    "password-quoted": ("db_password = 'c0rrect-horse'", "c0rrect-horse"),
    "password-json": ('{"password": "9fKq2LzP"}', "9fKq2LzP"),
    "password-yaml": ("  password: Zx81Spectrum!", "Zx81Spectrum!"),
    "password-odbc": ("Server=db;User Id=app;Password=Qw3rty99;Encrypt=yes", "Qw3rty99"),
    "npmrc": ("//registry.example.org/:_password=c2VjcmV0LTQyLWFiYw==", "c2VjcmV0LTQyLWFiYw"),
    "bearer": ("curl -H 'Authorization: Bearer 8f14e45fceea167a5a36dedd4bea2543'", "8f14e45fceea167a5a36dedd4bea2543"),
    "basic": ("Authorization: Basic YWRtaW46aHVudGVyMnNlY3JldA==", "YWRtaW46aHVudGVyMnNlY3JldA"),
    "secret-key": (
        "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzQQWWEERR",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzQQWWEERR",
    ),
    "key-body": ("\n".join(BODY), BODY[6]),
    "google": ("key: AIzaSyA1bC2dE3fG4hI5jK6lM7nO8pQ9rS0tU1v", "AIzaSyA1bC2dE3fG4hI5jK6lM7nO8pQ9rS0tU1v"),
    "stripe": ("sk_" + "live_4eC39HqLyjWDarjtT1zdp7dc", "4eC39HqLyjWDarjtT1zdp7dc"),
    "slack-hook": (
        "https://hooks.slack.com/services/T00000000/B00000000/a1B2c3D4e5F6g7H8i9J0k1L2",
        "a1B2c3D4e5F6g7H8i9J0k1L2",
    ),
}
"""For each kind, a text and the part of it that must not be shown."""

HARMLESS = [
    "password = getpass.getpass()",
    "def login(user: str, password: str) -> Token:",
    "password=password, token=self.token1)",
    "DATABASE_URL=postgres://${USER}:${PASSWORD}@db/app",
    "see https://user:password@example.org for the form",
    'type="password" name="password" placeholder="Your password"',
    "token = next(tokens)",
    "const tokenType = SyntaxKind.Identifier;",
    "access_key_id: AKIDEXAMPLE",
    "secret: ${{ secrets.NPM_TOKEN }}",
    "Authorization: Bearer <token>",
    "http://localhost:8080/a@b",
    "http://localhost:8080?mail=a@b http://localhost:80,a@b http://localhost:3000#x@y",
    "postgres://u:%s@h http://u:%(pw)s@h http://u:{pw}@h http://u:<pw>@h http://u:***@h http://u:#{pw}@h",
    "https://me@host/x ssh://git@github.com/a/b https://serviceaccount2024@host https://anna:mysecret@host",
    "https://cdn.jsdelivr.net/npm/abc12d3e4f5g6h7@1.2.3 https://registry.npmjs.org/@types/node/-/node-20.1.1.tgz",
    "-----BEGIN CERTIFICATE-----\n" + "\n".join(BODY[5:9]) + "\n-----END CERTIFICATE-----",
    "-----BEGIN PGP SIGNATURE-----\nVersion: 1\n\n" + "\n".join(BODY[5:9]),
    "<ds:X509Certificate>MIIC\n" + "\n".join(BODY[5:9]),
    "\n".join(
        ["3f" * 32, "Ab1" * 22, "sha384:" + BODY[6], f"sha384-{BODY[6]}", f"x = '{BODY[6]}'", "a" * 64, "A1" * 32]
    ),
    "12:30:45 key=value",
    "keyboard = 'qwertz1'",
    "MIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJRTESMBAGA1UE",
    "integrity sha512-9fKq2LzPeyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9==",
]


@rows("kind", SECRETS)
def test_THR_shapes_are_redacted_and_what_is_around_them_stays(kind: str) -> None:
    text, secret = SECRETS[kind]
    for around in ("{}", "first\n{}\nlast\n", "12|{}", "+{}", "a.txt:12:{}", "echo {}"):
        whole = around.format(text)
        redacted = Redactor().redact(whole, keep_lines=True)
        assert secret not in redacted, whole
        assert "[redacted " in redacted
        assert redacted.count("\n") == whole.count("\n")
    assert not Redactor().finds_nothing([text])


@rows("text", HARMLESS)
def test_what_only_resembles_a_secret_is_left_alone(text: str) -> None:
    assert Redactor().redact(text) == text


@pytest.mark.slow
def test_THR_shapes_take_no_longer_for_a_text_made_to_be_slow() -> None:
    for piece in ("eyJ", "password=", "https://a:", "bearer ", "a_", "MIIEvQIBADANB", "=", '"secret":"', "x-"):
        text = piece * 200_000
        assert len(Redactor().redact(text)) > 0


@pytest.mark.slow
@pytest.mark.usefixtures("sandbox")
@pytest.mark.parametrize("kind", SECRETS)
def test_THR_shapes_leave_a_server_on_no_way(kind: str, server: RunningServer) -> None:
    """The text is read, searched, listed, printed piece by piece, put into a call, and looked for in the audit log."""
    text, secret = SECRETS[kind]
    (server.workspace / "seen.txt").write_text(f"first\n{text}\nlast\n")
    slow = "while IFS= read -r line; do printf '%s' \"$line\" | cut -c1-9 | tr -d '\\n'; sleep 0.02; printf '%s\\n' \"$line\" | cut -c10-; done < seen.txt"
    calls = [
        server.call("read_file", path="seen.txt"),
        server.call("search_files", pattern="first|last", context_lines=3),
        server.call("run_command", "allow", command="cat seen.txt; cat seen.txt >&2"),
        server.call("run_command", "allow", command=slow),
        server.call("edit_file", "deny", path="seen.txt", old_text="first", new_text=f"x {text}"),
    ]
    for called in calls:
        assert secret not in json.dumps([called.result, called.questions][: 1 if called is calls[-1] else 2]), called
    records = b"".join(path.read_bytes() for path in what_is_kept(server.folder / "state"))
    assert secret.encode() not in records
