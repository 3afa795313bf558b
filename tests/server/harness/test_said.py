"""SEC-06: a text that comes in pieces is redacted as it would be in one piece, however it is cut."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rows import rows

from remit_governance.secrets.redaction import Redactor
from remit_server.agent.said import MOST_HELD, StreamedText

TOKEN = "ghp_" + "a1B2" * 9
KEY = "\n".join(
    [
        "-----BEGIN RSA PRIVATE KEY-----",
        *["MIIEpAIBAAKCAQEAu1SU1LfVLPHCozMxH2Mo4lgOEePzNm0tRgeL"] * 4,
        "-----END RSA PRIVATE KEY-----",
    ]
)
PIECES = [
    *(
        TOKEN,
        KEY,
        "hunter2hunter2",
        "https://anna:Tr0ub4dor9@host/",
        "password = 'c0rrect-horse'",
        f"Bearer {TOKEN[4:]}",
    ),
    *("plain", "words", "漢字", "é", "-----", "PRIVATE KEY", "token", "://", "x=", '"'),
]


@given(
    text=st.lists(st.sampled_from(PIECES), max_size=8).flatmap(
        lambda pieces: st.lists(
            st.sampled_from([" ", "\n", "\n\n", ", "]), min_size=len(pieces), max_size=len(pieces)
        ).map(lambda between: "".join(a + b for a, b in zip(pieces, between, strict=True)))
    ),
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=5),
)
@settings(deadline=None)
def test_SEC_06_pieces_of_an_answer_are_redacted_as_the_whole_is(text: str, sizes: list[int]) -> None:
    redactor = Redactor(secrets=["hunter2hunter2"])
    streamed, shown, at = StreamedText(redactor), list[str](), 0
    while at < len(text):
        size = sizes[at % len(sizes)]
        shown.append(streamed.take(text[at : at + size]))
        at += size
    told = "".join((*shown, streamed.rest()))
    for secret in (TOKEN, "hunter2hunter2", "Tr0ub4dor9", "c0rrect-horse", KEY[40:80]):
        assert secret not in told
    if redactor.finds_nothing([text]):
        assert told == text


@rows(
    "text, first",
    [
        ("one two thr", "one two "), ("漢字漢字", "漢字漢字"), ("a line\nnext", "a line\n"), (f"see {TOKEN} and", ""), (TOKEN, ""),
        ("my token is", ""), ("my token is\n", "my token is\n"), (f"x\n{KEY}", "x\n"), ("-----BEGIN RSA ", ""), ("word", ""),
        ("w" * (MOST_HELD + 1), "w" * (MOST_HELD + 1)),
    ],
)  # fmt: skip
def test_SEC_06_words_are_shown_once_no_secret_can_be_in_them(text: str, first: str) -> None:
    assert StreamedText(Redactor()).take(text) == first


def test_SEC_06_a_secret_with_blanks_is_not_shown_by_its_first_word() -> None:
    streamed = StreamedText(Redactor(secrets=["hünter two hunter"]))
    shown = "".join(streamed.take(each) for each in "it is hünter two hunter, yes") + streamed.rest()
    assert shown == "it is [redacted secret], yes"


@pytest.mark.parametrize("secret", ["hf_" + "a1B2" * 9, "password: q7Zx2LmP9wKf4RtB", "--token q7Zx2LmP9wKf4RtB"])
def test_SEC_06_a_line_that_is_too_long_to_be_held_back_is_parted_beside_a_secret(secret: str) -> None:
    value = secret.rpartition(" ")[2][3:]
    for before in range(MOST_HELD - 60, MOST_HELD + 10, 3):
        text = f"a token {'word ' * (before // 5)}{'w' * (before % 5)} {secret} and {'more ' * 40}"
        streamed = StreamedText(Redactor())
        shown = "".join(streamed.take(text[at : at + 7]) for at in range(0, len(text), 7)) + streamed.rest()
        assert not any(value[n : n + 8] in shown for n in range(len(value) - 7)), before
        assert shown.endswith("more ")
