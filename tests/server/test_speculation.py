"""MOD-17: with guesses a model writes exactly the same tokens as without."""

from __future__ import annotations

import random
from importlib.util import find_spec
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit_server.models.dialects.table import COMPACT, QWEN_XML
from remit_server.models.local.host.speculation import LARGEST, MATCHED, Drafter, find_files, make_source

NEEDS_MLX = pytest.mark.skipif(find_spec("mlx_lm") is None, reason="needs the mlx extra")
TOKENS = st.lists(st.integers(0, 5), max_size=80)


@given(TOKENS, TOKENS, st.integers(1, 20))
def test_MOD_17_a_guess_is_what_stands_behind_the_last_tokens(source: list[int], written: list[int], most: int) -> None:
    drafter = Drafter([make_source(source)])
    for token in written:
        drafter.observe([token])
        guess = drafter.propose(most)
        assert len(guess) <= min(most, LARGEST)
        if guess:
            places = [n for n in range(len(source)) if source[n : n + len(guess)] == guess and n >= MATCHED]
            assert places


@given(TOKENS)
def test_MOD_17_a_text_that_is_written_again_is_guessed_to_its_end(source: list[int]) -> None:
    text = [10, 11, 12, 13, *source]
    drafter = Drafter([make_source(text)])
    drafter.observe(text[:MATCHED])
    at = MATCHED
    while at < len(text):
        guess = drafter.propose(99)
        assert guess == text[at : at + len(guess)] != []
        drafter.observe(guess)
        drafter.rate(len(guess), len(guess))
        at += len(guess)
    assert drafter.propose(99) == []


def test_MOD_17_wrong_guesses_become_rare() -> None:
    source = [1, 2, 3, 4] * 50
    drafter = Drafter([make_source(source)])
    guesses = 0
    for _ in range(400):
        drafter.observe([1, 2, 3])
        if drafter.propose(4):
            guesses += 1
            drafter.rate(4, 0)
        drafter.observe([9])
    assert guesses < 60


def test_MOD_17_files_are_what_was_shown_with_numbered_lines() -> None:
    shown = 'a.py (lines 1-4 of 4)\n1|x = "1"\n2|\n  3|y = 2\n4|z'
    assert list(find_files([shown, "1|too short", "no file"], COMPACT.encoding)) == ['x = \\"1\\"\\n\\ny = 2\\nz']
    assert list(find_files([shown], QWEN_XML.encoding)) == ['x = "1"\n\ny = 2\nz']


@pytest.fixture(scope="module")
def model() -> Any:
    from tiny_model import MARKERS, TEMPLATE, tiny_model

    from remit_server.models.local.host.mlx_backend import LanguageModel, prepare

    prepare()
    return LanguageModel.load(tiny_model("markers", MARKERS, TEMPLATE), lambda done, total: None)


def written(model: Any, sampling: Any, most: int, drafter: Drafter | None, guided: bool) -> list[int]:
    """Returns the tokens of an answer. Asserts that the cache has as many as the row says, all of them written."""
    from remit_server.models.local.host.grammar.guide import Guide, Unguided
    from remit_server.models.local.host.grammar.step_grammar import Grammars

    constraint: Any = Unguided(model.vocabulary)
    if guided:
        spelling = model.spelling(COMPACT)
        schema = {"type": "object", "properties": {"content": {"type": "string"}}, "required": ["content"]}
        grammars = Grammars(model.grammar_tokenizer(spelling), spelling)
        _, matcher, closer = grammars.answer(schema, 4_000, 4_000)
        constraint = Guide(matcher, model.end_tokens, closer)
    cache, prompt = model.new_cache(), model.encode("write the file again, with what is to be changed")
    model.read(prompt[:-1], cache)
    row = model.row(cache, prompt[-1], constraint, max_tokens=most, sampling=sampling, drafter=drafter)
    tokens: list[int] = []
    while True:
        row.begin()
        made = row.decide()
        tokens += made.tokens
        if made.done is not None:
            assert row.held == cache.layers[0].offset - len(prompt) + 1 <= len(tokens) + 1
            return tokens


@NEEDS_MLX
@pytest.mark.slow
@pytest.mark.parametrize("guided", [True, False])
@pytest.mark.parametrize(("temperature", "top_p"), [(0.0, 1.0), (0.7, 1.0), (1.0, 0.8)])
def test_MOD_17_guesses_change_no_token(model: Any, temperature: float, top_p: float, guided: bool) -> None:
    """The guesses come from the answer itself, whole or with some tokens changed, so that some are right and some
    wrong."""
    from remit_server.models.local.host.decoding import Sampling

    for seed in range(8):
        sampling = Sampling(temperature, top_p, seed)
        plain = written(model, sampling, 160, None, guided)
        rng = random.Random(seed)
        changed = [token if rng.random() < 0.9 else rng.randrange(model.vocabulary) for token in plain]
        for source in (plain, changed, plain[::-1]):
            assert written(model, sampling, 160, Drafter([make_source(source)]), guided) == plain


@NEEDS_MLX
@pytest.mark.slow
def test_MOD_17_a_near_tie_is_decided_as_without_guesses(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from remit_server.models.local.host import decoding

    sampling = decoding.Sampling(0.7, 1.0, 3)
    plain = written(model, sampling, 120, None, False)
    monkeypatch.setattr(decoding, "_NEAR", {True: 1e9, False: 1e9})
    assert written(model, sampling, 120, Drafter([make_source(plain)]), False) == plain


@NEEDS_MLX
@pytest.mark.slow
def test_MOD_17_right_guesses_take_fewer_passes(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from remit_server.models.local.host import decoding

    passes: list[int] = []
    scores = decoding.Row._scores
    monkeypatch.setattr(decoding.Row, "_scores", lambda *given: passes.append(1) or scores(*given))
    for sampling in (decoding.Sampling(0.7, 1.0, seed) for seed in range(40)):
        plain, without = written(model, sampling, 160, None, False), len(passes)
        passes.clear()
        if len(plain) > 25:
            assert written(model, sampling, 160, Drafter([make_source(plain)]), False) == plain
            assert len(passes) < without / 2
            return
    raise AssertionError("no answer is long enough")
