"""No secret appears in a result, an error or a log line (SEC-01)."""

from __future__ import annotations

import base64
import json
import re
from urllib.parse import quote, quote_plus

import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from rows import rows

from remit_governance.secrets.cutting import truncate, truncate_strings
from remit_governance.secrets.redaction import PATTERNS, Redactor, secret_values
from remit_governance.secrets.secret_shapes import _HOOKS as HOOKS
from remit_governance.secrets.secret_shapes import _KEY_DER as KEY_DER
from remit_governance.secrets.secret_shapes import _TOKENS as TOKENS
from remit_governance.secrets.secret_shapes import find_key, key_body_begins, may_hold_key, may_hold_shapes

BODY = "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
KEY = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEAu1SU1LfVLPHCozMxH2Mo4lgOEePzNm0tRgeL\n" * 4
SECRETS = {
    "openai": f"sk-{BODY}",
    "openai project": f"sk-proj-{BODY}_x-{BODY}",
    "letters only": "sk-" + "abcdefghijklmnopqrstuvwxyz",
    "github": f"ghp_{BODY}",
    "github oauth": f"gho_{BODY}",
    "github letters": "ghp_" + "a" * 36,
    "github fine": "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz",
    "aws": "AKIAIOSFODNN7EXAMPLE",
    "slack bot": "xoxb-123456789012-abcdefGHIJKL",
    "slack user": "xoxp-1234567890-abc",
    "gitlab": "glpat-abcdefghij_klmno-pqrst",
    "npm": f"npm_{BODY}",
    "key block": KEY + "-----END RSA PRIVATE KEY-----",
    "key cut off": KEY,
    "key numbered": "".join(
        f"{i}|{line}\n" for i, line in enumerate((KEY + "-----END RSA PRIVATE KEY-----").splitlines())
    ),
    "key escaped": json.dumps(KEY + "-----END RSA PRIVATE KEY-----")[1:-1],
    "pgp block": "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQOYBF\n=abcd\n-----END PGP PRIVATE KEY BLOCK-----",
}
QUOTED = "-----BEGIN PRIVATE KEY-----\\n"
SECRETS |= {
    "key in quoted lines": f'("{QUOTED}"\n'
    + f'    "MIIE{BODY}{BODY}\\n"\n' * 3
    + '    "-----END PRIVATE KEY-----\\n")',
    "key for an address": f"-----BEGIN%20PRIVATE%20KEY-----%0AMIIE{BODY}%2B{BODY}%0A-----END%20PRIVATE%20KEY-----",
}
ESCAPES = [r"\n", r"\t", r"\r", r"\x00", r"\u0022", "%20", "%3D", "=3D", "%3d"]
BEHIND_WORDS = [
    ("mysql --password h4nd{}", "h4nd"), ("['--token', 'v1{}']", "v1"), ("<password>q7{}</password>", "q7"),
    ("login?password%3Dq7{}", "q7"), ("url=https%3A%2F%2Fanna%3Aq7{}%40example.org", "q7"),
]  # fmt: skip
HARMLESS = [
    "the task-force met; risk-sk-estimate, desk-lamp, sk-learn and sk-based code",
    "disk-usage-of-the-long-hyphenated-identifier-name",
    "sk-learn-compatible-estimators-are-nice-to-have",
    "npm_config_registry npm_lifecycle_event npm_package_name",
    "AKIAshort and MAKIAIOSFODNN7EXAMPLE1",
    "xoxb- is how a slack token starts; ghp_ and glpat- too",
    'if "-----BEGIN RSA PRIVATE KEY-----" in text and "-----END RSA PRIVATE KEY-----" in text:',
    "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA\n-----END PUBLIC KEY-----",
    "sha256:" + "ab" * 32,
    r"C:\new\task-force, r'\bsk-learn\n'",
    "--password PASSWORD --token-file keys.txt --api-key $KEY",
    "<password>your-password</password><token></token>",
]


@rows("kind", PATTERNS)
def test_no_pattern_says_what_older_pythons_get_wrong(kind: str) -> None:
    """No possessive or atomic groups: before Python 3.11.5 a private key was not found with them."""
    assert not re.search(r"[+*?}]\+|\(\?>", PATTERNS[kind])


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize("around", ["{}", 'token = "{}"', "Bearer {}\nnext line", "?key={}&x=1", "a\n{}\nb"])
def test_secret_shapes_are_taken_out(name: str, around: str) -> None:
    text = around.format(SECRETS[name])
    redacted = Redactor().redact(text)
    assert redacted.count("[redacted") == 1
    for piece in re.findall(r"[A-Za-z0-9]{12,}", SECRETS[name].replace("PRIVATE KEY", "")):
        assert piece not in redacted


@rows("escape", ESCAPES)
def test_SEC_01_a_token_behind_an_escape_is_taken_out(escape: str) -> None:
    kinds = ("openai", "github", "aws", "slack bot", "gitlab", "npm")
    for token in (*(SECRETS[kind] for kind in kinds), f"eyJ{BODY}.eyJ{BODY}.{BODY}", f"hf_{BODY}"):
        assert token not in Redactor().redact(f'{{"body": "line1{escape}{token}"}}')


@rows("text, begins", BEHIND_WORDS)
def test_SEC_01_a_secret_is_told_by_the_option_or_element_that_names_it(text: str, begins: str) -> None:
    assert f"{begins}{BODY[:9]}" not in Redactor().redact(text.format(BODY[:9]))


@rows("text", HARMLESS)
def test_harmless_text_is_left_alone(text: str) -> None:
    assert Redactor().redact(text) == text


def test_this_very_module_survives() -> None:
    """The source of the patterns contains every prefix of a secret, but is no secret."""
    source = "\n".join(PATTERNS.values())
    assert Redactor().redact(source) == source


def test_SEC_01_no_end_of_a_key_survives_wherever_its_beginning_was_cut_off() -> None:
    """A selection may begin inside a key, and the middle of a long output is left out."""
    whole = SECRETS["key block"] + "\nafter\n"
    for cut in range(whole.index("MII"), whole.index("after")):
        for keep_lines in (False, True):
            left = Redactor().redact(f"a line\n\n{whole[cut:]}", keep_lines=keep_lines)
            assert left.startswith("a line\n\n")
            assert left.endswith("after\n")
            assert "CAQEA" not in left
            assert not keep_lines or left.count("\n") == 2 + whole[cut:].count("\n")
    assert Redactor().redact("print(2)\n-----END PRIVATE KEY-----") == "print(2)\n-----END PRIVATE KEY-----"


def test_text_after_a_cut_off_key_stays() -> None:
    text = KEY + "\nThe next paragraph is plain prose, and stays.\n"
    assert "plain prose, and stays" in Redactor().redact(text)


SECRET = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=8, max_size=40)
# Characters around the secret that cannot by chance be taken for a part of it.
AROUND = st.text(st.sampled_from("abc ?=:\n"), max_size=9)


@given(secret=SECRET, before=AROUND, after=AROUND)
@settings(max_examples=examples(200), deadline=None)
def test_environment_secrets_in_every_encoding(secret: str, before: str, after: str) -> None:
    """THR-model-exfiltration: the server's own secrets, in every encoding."""
    redactor = Redactor(patterns={}, secrets=[secret])
    data = secret.encode()
    for spelling in (
        secret,
        quote(secret, safe=""),
        quote_plus(secret),
        quote(secret, safe="").lower() if secret.islower() else secret,
        data.hex(),
        data.hex().upper(),
        json.dumps(secret)[1:-1],
        base64.b64encode(data).decode(),
        base64.urlsafe_b64encode(data).decode(),
    ):
        redacted = redactor.redact(before + spelling + after)
        assert "[redacted" in redacted
        assert spelling not in redacted


@given(
    secret=st.text(st.sampled_from("QxZw7!9"), min_size=12, max_size=30),
    user=st.text(st.sampled_from("ab"), max_size=5),
)
@settings(max_examples=examples(200), deadline=None)
def test_environment_secrets_inside_longer_base64(secret: str, user: str) -> None:
    encoded = base64.b64encode(f"{user}:{secret}@host".encode()).decode()
    redacted = Redactor(patterns={}, secrets=[secret]).redact(f"Authorization: Basic {encoded}")
    assert "[redacted" in redacted
    remains = re.sub(r"\[redacted secret\]", "", redacted.split("Basic ")[1])
    assert len(remains) <= len(encoded) - (len(secret) * 4 // 3 - 4)


def test_which_variables_are_secret() -> None:
    environment = {
        "OPENAI_API_KEY": "abcdefgh1",
        "GITHUB_TOKEN": "abcdefgh2",
        "db_password": "abcdefgh3",
        "MY_SECRET": "short",
        "PATH": "/usr/bin:/bin",
        "SSH_KEY_PATH": "/home/me/.ssh/id",
        "HOME": "/home/somebody",
    }
    assert secret_values(environment) == ("abcdefgh1", "abcdefgh2", "abcdefgh3")


@given(st.lists(st.one_of(st.sampled_from(list(SECRETS.values())), st.text(max_size=20)), max_size=6).map("\n".join))
@settings(deadline=None)
def test_redacting_twice_changes_nothing(text: str) -> None:
    redactor = Redactor(secrets=["hunter2hunter2"])
    once = redactor.redact(text)
    assert redactor.redact(once) == once


PIECES = [*SECRETS.values(), "sk-", "AKIA", "-----BEGIN", "PRIVATE KEY-----", "word", "", "\\", '"', "\n", "é"]
OWN_SECRETS = ["hunter2 hunter2", 'hunter"2\\hunter', "hünter2hunter", "a\nb\nc\nd\ne", "hunter2/hunter2+"]


@given(
    own=st.lists(st.sampled_from(OWN_SECRETS), max_size=2),
    texts=st.lists(
        st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=9)), max_size=4).map("".join), max_size=6
    ),
    held=st.lists(st.sampled_from([*OWN_SECRETS, *(json.dumps(secret)[1:-1] for secret in OWN_SECRETS)]), max_size=2),
)
@settings(deadline=None)
def test_data_in_which_nothing_is_found_is_left_as_it_is(own: list[str], texts: list[str], held: list[str]) -> None:
    """If `finds_nothing` is true of all strings, then each single one is left as it is."""
    redactor, strings = Redactor(secrets=own), [*texts, *held]
    assert redactor.redact_json({"strings": strings}) == {"strings": [redactor.redact(text) for text in strings]}
    if redactor.finds_nothing(strings):
        assert [redactor.redact(text) for text in strings] == strings
    else:
        # False may be a wrong answer, but not for ordinary words.
        assert own or not all(re.fullmatch(r'(word|[\\"\né])*', text) for text in strings)


@pytest.mark.parametrize("expression", [*TOKENS, KEY_DER, HOOKS], ids=lambda expression: expression[:20])
def test_SEC_01_what_has_a_form_is_never_passed_over_for_its_markers(expression: str) -> None:
    """The quick check comes before the patterns, so that text which it misses would not be redacted."""

    @given(st.from_regex(re.compile(expression, re.ASCII), fullmatch=True))
    @settings(deadline=None, max_examples=10)
    def holds(text: str) -> None:
        assert may_hold_shapes(text)

    holds()


def test_hostile_text_is_redacted_in_bounded_steps() -> None:
    """THR-shell-slow-regex: many beginnings and no end."""
    for unit in ("-----BEGIN RSA PRIVATE KEY-----", "sk-", "xoxb-", "github_pat_", "A" * 50 + "\n"):
        Redactor().redact(unit * (100_000 // len(unit)))


@given(st.text(max_size=300), st.integers(0, 320), st.sampled_from(["head", "tail", "middle"]))
def test_truncate_keeps_to_its_limit_and_counts(text: str, limit: int, mode: str) -> None:
    cut = truncate(text, limit, mode)  # type: ignore[arg-type]
    assert len(cut) <= limit
    assert (cut == text) == (len(text) <= limit)
    if noted := re.search(r"\n\[… (\d+) characters left out …\]\n", cut):
        head, tail = cut[: noted.start()], cut[noted.end() :]
        assert text.startswith(head)
        assert text.endswith(tail)
        assert len(head) + len(tail) + int(noted[1]) == len(text)


@rows("kind", PATTERNS)
def test_a_secret_is_found_far_inside_a_long_text(kind: str) -> None:
    marker = {
        "private key": "-----BEGIN PRIVATE KEY-----\nabcdefghijklmnop\n-----END PRIVATE KEY-----",
        "api key": "sk-abcdefghij0123456789",
        "github token": "ghu_abcdefghij0123456789",
        "aws key": "ASIAABCDEFGHIJKLMNOP",
        "slack token": "xoxz-1234567890",
        "gitlab token": "glpat-abcdefghij0123456789",
        "npm token": "npm_abcdefghij0123456789",
    }[kind]
    filler = "half \ud800 and é " * 500
    found = Redactor().redact(f"{filler}{marker} {filler}")
    assert found == f"{filler}[redacted {kind}] {filler}"


@settings(max_examples=examples(200), deadline=None)
@given(
    before=st.sampled_from(["", "y\n", "one\n+", "x=", "a line before\n"]),
    key=st.one_of(
        st.from_regex(f"(?:{KEY_DER})[A-Za-z0-9+/=]{{32,40}}", fullmatch=True), st.just("-----BEGIN PRIVATE KEY")
    ),
    after=st.sampled_from(["\n", "  \n", "\nlast\n"]),
)
def test_SEC_01_a_key_among_lines_is_found_at_the_start_of_its_line(before: str, key: str, after: str) -> None:
    text = f"{before}{key}{after}".encode()
    start = before.rfind("\n") + 1
    assert may_hold_key(text)
    assert find_key(text, 0) == find_key(text, start) == start
    line = text[start : text.index(b"\n", start)]
    assert key_body_begins(line) or b"PRIVATE KEY" in line


@settings(max_examples=examples(200), deadline=None)
@given(text=st.text("MIJAQgw0=+-\n ", max_size=120))
def test_SEC_01_no_key_is_found_where_none_may_be(text: str) -> None:
    data = f"{text}\n".encode()
    assert find_key(data, 0) == len(data) or may_hold_key(data)


def test_only_long_strings_are_cut() -> None:
    value = {"a": ["b" * 5_000, {"c": "d"}], "e": 7, "f": None}
    short = truncate_strings(value, 1_000)
    assert len(short["a"][0]) <= 1_000
    assert (short["a"][1], short["e"], short["f"]) == ({"c": "d"}, 7, None)
