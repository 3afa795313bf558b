"""Each host has one spelling, and a text that could be read as another host has none (POL-01)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import rows

from remit_governance.hosts import Endpoint, host_and_port, parse_endpoint
from remit_governance.policy.decision.evaluate import evaluate
from remit_governance.policy.language.compile import Source, compile_policy
from remit_governance.values import Action, Verdict

SPELLINGS = {
    "example.org": Endpoint("example.org"),
    "EXAMPLE.Org.": Endpoint("example.org"),
    "example.org:443": Endpoint("example.org"),
    "example.org:8443": Endpoint("example.org", 8443),
    "xn--bcher-kva.example": Endpoint("xn--bcher-kva.example"),
    "127.0.0.1:80": Endpoint("127.0.0.1", 80),
    "[::1]": Endpoint("::1"),
    "[0:0:0:0:0:0:0:1]:80": Endpoint("::1", 80),
}

NONE = (
    *(
        "",
        ".",
        "example..org",
        "-a.org",
        "a-.org",
        "*.example.org",
        "example.org:",
        "example.org:0",
        "example.org:65536",
    ),
    *("example.org:+80", "example.org:8 0", "example.org:٨٠", "example.org:80:90", "bücher.example", "exаmple.org"),
    *("allowed.org@evil.org", "https://example.org", "example.org/path", "example.org?x", "example.org#x", "a b.org"),
    *("example.org\n", "example.org\0", "ex%61mple.org", "2130706433", "0x7f000001", "0x7f.1", "127.1", "0177.0.0.1"),
    *(
        "127.0.0.1.",
        "1.2.3.4.5",
        "127.0.0.01",
        "::1",
        "[::1",
        "::1]",
        "[::1]80",
        "[fe80::1%eth0]",
        "[127.0.0.1]",
        "[x]",
    ),
    *("a" * 64 + ".org", "a." * 127 + "org"),
)


@rows("text", SPELLINGS)
def test_a_host_has_one_spelling(text: str) -> None:
    assert parse_endpoint(text) == SPELLINGS[text]
    assert parse_endpoint(str(parse_endpoint(text))) == SPELLINGS[text]


@rows("text", [text for text in NONE if text != "127.0.0.1."])
def test_what_could_be_read_as_another_host_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="it|its|address"):
        parse_endpoint(text)


def test_an_address_with_a_dot_at_its_end_is_that_address() -> None:
    assert parse_endpoint("127.0.0.1.") == Endpoint("127.0.0.1")


@given(st.text(max_size=40))
def test_any_text_names_a_host_in_its_own_spelling_or_none(text: str) -> None:
    host_and_port(text)
    try:
        endpoint = parse_endpoint(text)
    except ValueError:
        return
    assert str(endpoint).isascii()
    assert parse_endpoint(str(endpoint)) == endpoint
    assert str(endpoint) == str(endpoint).lower()


HOSTS = st.sampled_from(["example.org", "example.org:443", "EXAMPLE.org.", "example.org:80", "other.org"])


def _verdict(rule: str, host: str, action: str) -> Verdict:
    text = f"version: 1\ncapabilities:\n  - {{ name: h, match: {{ host: '{rule}' }}, action: {action} }}\n"
    return evaluate(compile_policy([Source("p.yaml", text)]), Action("net.connect", host=host)).verdict


@given(HOSTS, HOSTS)
def test_a_rule_without_a_port_allows_the_usual_one_and_stops_all(rule: str, host: str) -> None:
    wanted, asked = host_and_port(rule), parse_endpoint(host)
    same = wanted[0] == asked.host
    assert (_verdict(rule, host, "allow") is Verdict.ALLOW) == (same and asked.port == (wanted[1] or 443))
    review = _verdict(rule, host, "require_review")
    assert (review is Verdict.REQUIRE_REVIEW) == (same and wanted[1] in {None, asked.port})
