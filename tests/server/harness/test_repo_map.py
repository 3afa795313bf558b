"""`repo_map`: a project's definitions, the most used first, within a budget and a bounded time (TOOL-09)."""

from __future__ import annotations

import time
from typing import Any

from bench_runtime import Bench
from hypothesis import given
from hypothesis import strategies as st
from rows import rows
from threat_bench import LAX, own

from remit_server.tools.code.index.languages import LANGUAGES, grammar_of
from remit_server.tools.code.index.tags import Definition, TagCache, Tags, find_tags
from remit_server.tools.code.repo_map import CHARS_PER_TOKEN, Ranked, choose_definitions, draw_map, rank

NEVER = lambda: False  # noqa: E731 a constant

SOURCES = {
    "python": (
        "class A(B):\n    def m(self): c(); x.d()\n\nfrom k import e, f as g\n",
        {"A", "m"},
        {"c", "e", "f"},
        {"d"},
    ),
    "javascript": ("class A { m() { c(); x.d(); } }\nconst f = () => new E();\n", {"A", "m", "f"}, {"c", "E"}, {"d"}),
    "typescript": (
        "interface I { n: T }\nexport const f = () => c();\ntype U = V;\n",
        {"I", "f", "U"},
        {"c", "T"},
        set(),
    ),
    "tsx": ("export function F(): J { return <p>{c()}</p>; }\n", {"F"}, {"c", "J"}, set()),
    "go": ("package p\ntype T struct{}\nfunc (t T) m() { c(); x.d() }\n", {"T", "m"}, {"c"}, {"d"}),
    "rust": ("struct S;\nimpl S { fn m(&self) { a::c(); x.d(); p!() } }\n", {"S", "m"}, {"c", "p"}, {"d"}),
    "java": ("class A { B m() { return x.d(); } }\n", {"A", "m"}, {"B"}, {"d"}),
    "cpp": (
        (
            "template <class T> class A : B { A(); int m() { return c() + ns::e(); } virtual T v() = 0; int n; };\n"
            "namespace n { enum class E { X }; using U = int; }\nclass Later;\n"
            "int A::o() { x.d(); }\nA &n::A::p() {}\nint *f() { return new G<int>(); }\nstruct S {} s;\n"
        ),
        {"A", "m", "v", "E", "U", "o", "p", "f", "S"},
        {"B", "T", "c", "e", "G"},
        {"d"},
    ),
    "c": (
        "struct s { int i; };\nint *f(T t) { return c(); }\nstruct s g(void) {}\n",
        {"s", "f", "g"},
        {"c", "T"},
        set(),
    ),
}


@rows("language", sorted(set(LANGUAGES.values())))
def test_what_each_language_defines_and_uses(language: str) -> None:
    source, defined, used, members = SOURCES[language]
    tags = find_tags(source.encode(), language, NEVER)
    assert {each.name for each in tags.definitions} == defined
    assert used <= tags.uses
    assert members <= tags.members


@rows("language", sorted(set(LANGUAGES.values())))
def test_each_kind_of_node_and_each_field_is_one_of_its_grammar(language: str) -> None:
    """Otherwise an update of a grammar could silently empty the map. Kinds that grammars share need only be in one."""
    grammar = grammar_of(language)
    shared = {"extends_clause", "class_heritage"}
    for kind in {*grammar.defines, *grammar.uses, *grammar.members, *grammar.only} - shared:
        assert grammar.language.id_for_node_kind(kind, True), kind
    for paths in (*grammar.defines.values(), *grammar.members.values()):
        for name in {name for path in paths for name in path} - {"*"}:
            assert grammar.language.field_id_for_name(name), name


@rows(
    ("language", "piece"),
    [
        ("python", "("),
        ("python", "[x for x in "),
        ("typescript", "a<b<"),
        ("java", "a<b<c,"),
        ("go", "func("),
        ("c", "a*b("),
        ("cpp", "a<b<"),
        ("cpp", "template<"),
    ],
)
def test_THR_model_no_text_takes_a_parser_long_or_down(language: str, piece: str) -> None:
    """A query takes minutes for some of these texts, and crashes if it is stopped, so `repo_map` uses none."""
    end = time.monotonic() + 0.2
    source = (piece * (300_000 // len(piece))).encode()
    try:
        find_tags(source, language, lambda: time.monotonic() > end)
    except TimeoutError:
        assert time.monotonic() > end


@given(st.sampled_from(sorted(set(LANGUAGES.values()))), st.binary(max_size=300))
def test_any_bytes_have_tags(language: str, source: bytes) -> None:
    tags = find_tags(source, language, NEVER)
    assert all(1 <= each.line <= source.count(b"\n") + 1 for each in tags.definitions)


def test_a_content_is_parsed_once() -> None:
    cache = TagCache(most=2)
    first = cache.tags(b"def a(): 1\n", "python", NEVER)
    assert cache.tags(b"def a(): 1\n", "python", NEVER) is first
    for n in range(2):
        cache.tags(f"def b{n}(): 1\n".encode(), "python", NEVER)
    assert cache.tags(b"def a(): 1\n", "python", NEVER) is not first


NAMES = st.sampled_from("abcd")
FILES = st.dictionaries(
    st.sampled_from(["1", "2", "3", "4"]),
    st.builds(
        Tags,
        st.sampled_from(["python", "go", "tsx", "javascript"]),
        st.lists(st.builds(Definition, NAMES, st.integers(1, 9), st.booleans()), max_size=4).map(tuple),
        st.frozensets(NAMES),
        st.frozensets(NAMES),
    ),
)


@given(FILES, st.integers(1, 40))
def test_the_best_that_fit_are_shown_and_never_more_than_the_budget(files: dict[str, Tags], tokens: int) -> None:
    ranked = rank(files)
    assert len(ranked) == sum(len(tags.definitions) for tags in files.values())
    assert [each.score for each in ranked] == sorted((each.score for each in ranked), reverse=True)
    assert all(each.users < len(files) for each in ranked)
    lines = draw_map(choose_definitions(ranked, lambda each: f"{each.definition.line} {each.definition.name}", tokens))
    assert sum(len(line) + 1 for line in lines) <= tokens * CHARS_PER_TOKEN


def test_a_member_counts_only_for_a_file_that_uses_something_else_of_that_file() -> None:
    parser = Tags("python", (Definition("Parser", 1), Definition("split", 2, inner=True)))
    files = {
        "parser.py": parser,
        "user.py": Tags("python", (), frozenset({"Parser"}), frozenset({"split"})),
        "other.py": Tags("python", (), frozenset({"split"}), frozenset({"split"})),
        "view.ts": Tags("typescript", (), frozenset({"Parser", "split"}), frozenset({"split"})),
    }
    assert {each.definition.name: each.users for each in rank(files)} == {"Parser": 1, "split": 1}
    assert isinstance(rank(files)[0], Ranked)


def test_a_header_of_c_counts_what_a_source_of_cpp_uses() -> None:
    files = {"a.h": Tags("c", (Definition("f", 1),)), "b.cpp": Tags("cpp", (), frozenset({"f"}))}
    assert [each.users for each in rank(files)] == [1]


async def mapped(bench: Bench, **arguments: Any) -> str:
    bench.events.clear()
    await bench.ask({**own("repo_map", **arguments), "intent": "ANALYZE"})
    (result,) = bench.of("tool_result")
    return str(result.output)


async def test_the_map_of_a_workspace(make_bench: Any) -> None:
    bench = await make_bench({"text": "ok"}, policy=LAX.replace('[".env"]', '[".env", "hidden.py"]'))
    put = bench.workspace.joinpath
    put("core.py").write_text("class Cart:\n    def total(self): ...\n\n\ndef unused(): ...\n")
    put("one.py").write_text("from core import Cart\n\n\ndef one(): return Cart().total()\n")
    put("two.py").write_text("from core import Cart\nfrom one import one\n")
    put("hidden.py").write_text("def secret(): ...\n")
    put("ignored.py").write_text("def ignored(): ...\n")
    put(".gitignore").write_text("ignored.py\n")
    put("broken.py").write_bytes(b"\x00\x01\x02def\xff")
    token = "ghp_" + "a1B2" * 9
    put("token.py").write_text(f'def sign(key="{token}"): ...\n')
    text = await mapped(bench)
    lines = text.splitlines()
    assert lines[1:3] == ["core.py", "    1  class Cart:"]
    assert text.index("class Cart") < text.index("def one")
    assert "1 files may not be read" in lines[0]
    assert "1 files could not be parsed" in lines[0]
    assert "secret" not in text
    assert "ignored" not in text
    assert "def sign" in text
    assert token not in text
    put("core.py").write_text("class Basket: ...\n")
    assert "class Basket" in await mapped(bench)


async def test_a_map_names_the_languages_that_it_does_not_know(make_bench: Any) -> None:
    bench = await make_bench({"text": "ok"}, policy=LAX.replace('[".env"]', '[".env", "hidden.rb"]'))
    for name in ("a.rb", "b.RB", "c.swift", "hidden.rb", "d.md", "e.py"):
        (bench.workspace / name).write_text("x = 1\n")
    said = "not looked at, because Remit does not know their language: .rb (2), .swift (1)"
    assert (await mapped(bench)).splitlines()[0].endswith(f"; {said}")


async def test_a_small_budget_keeps_the_most_used(make_bench: Any) -> None:
    bench = await make_bench({"text": "ok"}, policy=LAX)
    for n in range(60):
        (bench.workspace / f"f{n}.py").write_text(f"from f7 import wanted\n\n\ndef function_{n}(): ...\n")
    (bench.workspace / "f7.py").write_text("def wanted(): ...\n")
    text = await mapped(bench, max_tokens=100)
    assert text.splitlines()[1:3] == ["f7.py", "    1  def wanted(): ..."]
    assert len(text) < 100 * CHARS_PER_TOKEN + 100
    assert "of 60 definitions in 61 files" in text


async def test_a_folder_that_is_not_there_is_an_error(make_bench: Any) -> None:
    assert (await mapped(await make_bench({"text": "ok"}, policy=LAX), path="nowhere")).startswith("error")
