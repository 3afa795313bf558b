"""What the built-in model makes of a sentence that no rule takes, by what the files say of its words (MOD-29)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from bench_runtime import Answering, project, write_files
from hypothesis import given
from hypothesis import strategies as st

from remit_server.contract import TurnEnded
from remit_server.models.built_in.guesses.words import Wording, stems, tokens
from remit_server.models.built_in.language.sentences import read_sentence
from remit_server.models.built_in.questions import did_you_mean
from remit_server.models.built_in.routing import MOST_CHARS
from remit_server.sessions.session_file import read_session

FILES: Mapping[str, str] = {
    "pyproject.toml": '[project]\nname = "fares"\nversion = "1.4.0"\n',
    "requirements.lock": "click==8.1.7\nflask==3.0.2\n",
    "package.json": '{\n  "scripts": {\n    "bundle": "node bundle.mjs"\n  }\n}\n',
    "Makefile": "syntax:\n\tsh -n tools/backup.sh\n",
    "src/tariff.py": 'NIGHT_FEE = 350\nDAY = dict(base=380, per_km=195)\nFRIENDS = {\n    "SPRING": 10,\n}\n',
    "src/receipt.py": 'from src.tariff import NIGHT_FEE\n\nCOMPANY = "Old Cabs"\n',
    "tests/test_receipt.py": "def test_total():\n    pass\n",
    "tools/backup.sh": "KEEP=7\n# TODO: tell somebody\necho kept\n",
    "config/site.yaml": "dark: false\ntitle: Notes\n",
    "data/stock.json": '[\n  { "name": "Green tea", "stock": 12 },\n  { "name": "Black tea", "stock": 30 }\n]\n',
    "data/stations.csv": "id,name,height,active\nS01,Alm,1890,yes\nS02,Fosca,1432,no\n",
    "notes/bread.md": "# Bread\n\n## Dough\n\n- 11 g salt\n- 500 g flour\n\nBake it brwon.\n",
    "notes/todo.md": "# To do\n\n- [ ] book the dentist\n- [ ] mend the bike\n",
}


def changed(workspace: Path) -> dict[str, str]:
    now = {path: (workspace / path).read_text() for path in FILES}
    return {path: text for path, text in now.items() if text != FILES[path]}


DONE = [
    ("NIGHT_FEE bitte auf 400 anheben", "src/tariff.py", "NIGHT_FEE = 400\n"),
    ("a ride at night costs more. adjust NIGHT_FEE, 420", "src/tariff.py", "NIGHT_FEE = 420\n"),
    ("spring friends get 20 percent now", "src/tariff.py", '    "SPRING": 20,\n'),
    ('COMPANY in receipt.py must read "New Cabs & Sons"', "src/receipt.py", 'COMPANY = "New Cabs & Sons"\n'),
    ("7 is too few, let backup.sh KEEP 30", "tools/backup.sh", "KEEP=30\n"),
    ("green tea arrived, stock is 40", "data/stock.json", '  { "name": "Green tea", "stock": 40 },\n'),
    ("Fosca is measuring again, mark it active (yes) in stations.csv", "data/stations.csv", "S02,Fosca,1432,yes\n"),
    ("one more for stations.csv, last row: S03,Pian,1745,yes", "data/stations.csv", "S03,Pian,1745,yes\n"),
    ("sube flask a 3.0.3 en requirements.lock", "requirements.lock", "flask==3.0.3\n"),
    ("per_km of DAY up to 205", "src/tariff.py", "per_km=205)\n"),
    ("12 g salt in bread.md, 11 is too bland", "notes/bread.md", "- 12 g salt\n"),
    ('theres a typo in bread.md ("brwon"), its brown', "notes/bread.md", "Bake it brown.\n"),
    ("mend the bike is done, tick that box", "notes/todo.md", "- [x] mend the bike\n"),
    ('"- 10 g yeast" goes right below the salt in bread.md', "notes/bread.md", "- 11 g salt\n- 10 g yeast\n"),
    ("tack this onto the end of todo.md: - [ ] call Nora", "notes/todo.md", "- [ ] call Nora\n"),
    ("title in site.yaml must be Pages", "config/site.yaml", "title: Pages\n"),
    ('add "- 10 g yeast" to the list under dough in bread.md', "notes/bread.md", "- 500 g flour\n- 10 g yeast\n"),
    ("brwon should be brown in bread.md", "notes/bread.md", "Bake it brown.\n"),
    ("S01 geht weg, lösche die Zeile S01 in stations.csv", "data/stations.csv", "active\nS02"),
]


async def test_MOD_29_what_can_be_meant_in_one_way_only_is_done(tmp_path: Path, subtests: pytest.Subtests) -> None:
    async with project(tmp_path, FILES) as bench:
        for sentence, path, text in DONE:
            with subtests.test(sentence):
                assert text not in FILES[path]
                result = await bench.ask(sentence, session=sentence)
                assert (result.status, [*changed(bench.workspace)]) == ("completed", [path])
                assert text in changed(bench.workspace)[path]
            write_files(bench.workspace, FILES)


ASKED = [
    ('the company was never called Old Cabs: COMPANY = "New Cabs"', 'set COMPANY to "New Cabs" in src/receipt.py'),
    ("get rid of that TODO in backup.sh", 'remove the line "# TODO: tell somebody" from tools/backup.sh'),
    ("i need a fresh bundle", "run `npm run bundle`"),
    ("Alm is not at work, put no into stations.csv", 'change line 2 of data/stations.csv to "S01,Alm,1890,no"'),
    ("NIGHT_FEE bitte auf 400 anheben und dann ausliefern", "set NIGHT_FEE to 400 in src/tariff.py"),
    (
        "night fee is 400 now, spring 15",
        "set NIGHT_FEE to 400 in src/tariff.py, then set SPRING to 15 in src/tariff.py",
    ),
    ("NIGHT_FEE may be 30. bundle when youre done", "set NIGHT_FEE to 30 in src/tariff.py, then run `npm run bundle`"),
]


IN_PART = {
    'the company was never called Old Cabs: COMPANY = "New Cabs"',
    "NIGHT_FEE bitte auf 400 anheben und dann ausliefern",
}


async def test_MOD_29_what_may_be_meant_is_asked(tmp_path: Path, subtests: pytest.Subtests) -> None:
    async with project(tmp_path, FILES) as bench:
        for sentence, plain in ASKED:
            with subtests.test(sentence):
                result = await bench.ask(sentence, session=sentence)
                in_part = sentence in IN_PART
                assert (result.status, result.final_output) == ("declined", did_you_mean(plain, in_part=in_part))
                assert result.suggestion == plain
                assert changed(bench.workspace) == {}
            write_files(bench.workspace, FILES)


LOOKS = [
    ("how much green tea is there?", '"Green tea", "stock": 12'),
    ("how high up is Fosca", "S02,Fosca,1432,no"),
    ("which script tells somebody?", "# TODO: tell somebody"),
    ("whats still open in todo.md", "- [ ] book the dentist"),
]


async def test_MOD_29_a_question_is_declined_with_the_lines_that_have_its_words(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    async with project(tmp_path, FILES) as bench:
        for sentence, text in LOOKS:
            with subtests.test(sentence):
                result = await bench.ask(sentence, session=sentence)
                assert (result.status, text in (result.final_output or "")) == ("declined", True)


NOTHING = [
    "run cook src/receipt.py",
    "run tools/nosuch.sh with src/receipt.py",
    "why is NIGHT_FEE 350 and not 400?",
    "do not set NIGHT_FEE to 400",
    "should NIGHT_FEE be 400?",
    "explain the tariff module to me",
    "write a function that doubles NIGHT_FEE",
    "if it rains, NIGHT_FEE is 400",
    "make the receipt nicer",
    "NIGHT_FEE to 400 and COMPANY to 30",
    "refactor receipt.py so it is easier to test",
    "add a line 'About: about.md' at the end of dark in site.yaml",
    "title in /config/site.yaml is Pages now",
]


async def test_MOD_29_nothing_is_done_for_what_asks_forbids_or_says_more(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    async with project(tmp_path, FILES) as bench:
        for sentence in NOTHING:
            with subtests.test(sentence):
                await bench.ask(sentence, session=sentence)
                assert changed(bench.workspace) == {}
            write_files(bench.workspace, FILES)


async def test_MOD_29_a_wish_that_no_rule_takes_is_done_beside_one_that_a_rule_takes(tmp_path: Path) -> None:
    async with project(tmp_path, FILES) as bench:
        result = await bench.ask("NIGHT_FEE bitte auf 400 anheben, then show notes/todo.md")
        assert (bench.workspace / "src/tariff.py").read_text() == FILES["src/tariff.py"].replace("350", "400")
        assert result.final_output is not None
        assert "mend the bike" in result.final_output


BOTH = [
    (
        "the night fee is 400 now and the backup keeps 14",
        {"src/tariff.py": "NIGHT_FEE = 400\n", "tools/backup.sh": "KEEP=14\n"},
    ),
    (
        "make the black tea stock 25, green tea 10",
        {"data/stock.json": '"stock": 10 },\n  { "name": "Black tea", "stock": 25 }\n'},
    ),
    ('tick "book the dentist" and "mend the bike"', {"notes/todo.md": "- [x] book the dentist\n- [x] mend the bike\n"}),
    ("NIGHT_FEE is 400 now, spring friends get 20", {"src/tariff.py": 'SPRING": 20,\n'}),
    ("NIGHT_FEE should be 400. syntax check please", {"src/tariff.py": "NIGHT_FEE = 400\n"}),
]


async def test_MOD_29_two_wishes_that_no_rule_takes_are_done(tmp_path: Path, subtests: pytest.Subtests) -> None:
    async with project(tmp_path, FILES) as bench:
        for sentence, texts in BOTH:
            with subtests.test(sentence):
                result = await bench.ask(sentence, session=sentence)
                now = changed(bench.workspace)
                assert (result.status, [*now]) == ("completed", [*texts])
                assert all(text in now[path] for path, text in texts.items())
            write_files(bench.workspace, FILES)


async def test_MOD_29_a_file_that_is_not_known_is_not_taken_for_another(tmp_path: Path) -> None:
    async with project(tmp_path, FILES) as bench:
        await bench.ask("set KEEP to 9 in .env and KEEP to 5 in tools/backup.sh")
        assert "KEEP=9" not in (bench.workspace / "tools/backup.sh").read_text()


async def test_MOD_29_after_a_no_nothing_else_is_tried(tmp_path: Path) -> None:
    asker = Answering("deny")
    async with project(tmp_path, FILES) as bench:
        result = await bench.ask("NIGHT_FEE bitte auf 400 anheben", asker=asker)
        assert (result.status, len(asker.asked), changed(bench.workspace)) == ("denied", 1, {})


async def test_MOD_29_a_yes_is_to_the_question_before_it_only(tmp_path: Path) -> None:
    async with project(tmp_path, FILES) as bench:
        await bench.ask("get rid of that TODO in backup.sh")
        await bench.ask("show notes/todo.md")
        await bench.ask("yes")
        assert (bench.workspace / "tools/backup.sh").read_text() == FILES["tools/backup.sh"]


async def test_MOD_29_after_a_yes_that_is_done(tmp_path: Path) -> None:
    async with project(tmp_path, FILES) as bench:
        asked = await bench.ask("get rid of that TODO in backup.sh")
        assert (asked.status, asked.suggestion is not None) == ("declined", True)
        result = await bench.ask("yes, please")
        assert (result.status, result.suggestion) == ("completed", None)
        kept = read_session(*bench.settings.session_folder.glob("session-*.jsonl")).records
        assert [each.suggestion for each in kept if isinstance(each, TurnEnded)] == [asked.suggestion, None]
        assert (bench.workspace / "tools/backup.sh").read_text() == "KEEP=7\necho kept\n"


@given(st.text(max_size=40))
def test_MOD_29_a_word_is_found_however_it_is_joined(text: str) -> None:
    assert stems(text) <= tokens(text)
    assert stems(f"max_{text}_count") >= stems("max count")


@given(st.text(alphabet="ab=:->\"' .,01_/", max_size=MOST_CHARS))
def test_MOD_29_any_text_has_words_and_literals(text: str) -> None:
    wording = Wording(read_sentence(text, frozenset(FILES)))
    assert all(literal.strip('"') in text for literal in wording.literals)
    assert all(word == word.lower() for word in wording.words)
