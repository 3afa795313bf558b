"""MOD-23: rules do what needs no model, in six languages; if a part is missing, they ask for it by name."""

from __future__ import annotations

import ast
import configparser
import json
import re
import shlex
import tomllib
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

import pytest
import yaml
from bench_runtime import project
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from rows import rows

from remit_governance.values import Intent
from remit_server.models.built_in.answers import (
    ASKED_FOR,
    CHANGED,
    DELETED_FILE,
    LIST,
    NO_DEFINITION,
    NOT_GONE_ON,
    OUTSIDE_WORKFLOW,
    UNCHANGED,
    WHAT,
    Ending,
)
from remit_server.models.built_in.declined import ANY, EDIT, QUESTION, WRITING, decline
from remit_server.models.built_in.edits.kinds import NoPlace
from remit_server.models.built_in.edits.line_edits import (
    AddSetting,
    AmongImports,
    AtLine,
    Beside,
    Comment,
    Commented,
    Document,
    Insert,
    LineEdit,
    ListEntry,
    Pin,
    Remove,
    RemoveEntry,
    Rewrite,
    SetValue,
    Title,
)
from remit_server.models.built_in.edits.planning import plan_edit
from remit_server.models.built_in.language.phrases import likely_phrases, pattern_of, phrase_table
from remit_server.models.built_in.language.sentences import QUOTE_MARKS, Sentence, read_sentence
from remit_server.models.built_in.questions import suggest
from remit_server.models.built_in.routes import (
    BRANCH,
    COMMAND,
    DOCSTRING,
    FILE,
    MESSAGE,
    NEW_NAME,
    NEW_TEXT,
    NO_FOLDER,
    OWN_GIT,
    PLACE,
    Define,
    Edited,
    Help,
    Missing,
    Route,
    Routed,
    Tail,
    ValueOf,
    replaced_everywhere,
)
from remit_server.models.built_in.routing import route
from remit_server.models.built_in.rules.phrased import IDEAS, take_phrase
from remit_server.models.built_in.steps import next_step
from remit_server.models.built_in.wishes import wishes_in
from remit_server.models.ports import Declined, UserMessage
from remit_server.runtime.turns.outcome import SAID_SO
from remit_server.tools.edit.edit_file import EditFileArguments, edit_content
from remit_server.workspace.paths.workspace_path import WorkspacePath

FILES = frozenset(
    {"src/cart.py", "src/tax.py", "README.md", "notes.txt", "config.json", "tests/test_cart.py", "Makefile"}
)

CALLS: list[tuple[str, str, dict[str, Any]]] = [
    ("find total", "search_files", {"pattern": "total", "context_lines": 0}),
    ("rnu the test suite pls", "run_tests", {}),
    ("lsit the files", "list_files", {"pattern": "*"}),
    ("shw me notes.txt", "read_file", {"path": "notes.txt"}),
    ("search for 8085", "search_files", {"pattern": "8085", "context_lines": 0}),
    ("what is RATE set to", "search_files", {"pattern": "RATE", "context_lines": 0}),
    ("make stock", "run_command", {"command": "make stock"}),
    ("can you do a make clean for me", "run_command", {"command": "make clean"}),
    ("find the TODO and FIXME comments", "search_files", {"pattern": "TODO|FIXME", "context_lines": 0}),
    (
        "which make targets are there",
        "search_files",
        {"pattern": r"^[A-Za-z][\w./-]*\s*:(?:[^=]|$)", "path": "Makefile", "context_lines": 0},
    ),
    ("shw me teh readme", "read_file", {"path": "README.md"}),
    ("git commit -am 'a darker red'", "git_commit", {"message": "a darker red"}),
    ("executa o alvo board do Makefile", "run_command", {"command": "make board"}),
    ("please run just the one test called test_tax", "run_tests", {"filter": "test_tax"}),
    ("make a copy of notes.txt named old.txt", "run_command", {"command": "cp notes.txt old.txt"}),
    ("Who made the last commit?", "run_command", {"command": "git show --stat HEAD"}),
    ("dimmi su quale branch sono", "git_status", {}),
    ("move notes.txt into a new folder called docs", "move_file", {"path": "notes.txt", "new_path": "docs/notes.txt"}),
    (
        'in README.md, replace the word "crossing" with "sailing" wherever it appears',
        "edit_file",
        {"path": "README.md", "old_text": "crossing", "new_text": "sailing", "replace_all": True, "whole_word": True},
    ),
    ("mostra o ficheiro notes.txt", "read_file", {"path": "notes.txt"}),
    (
        "remplace localhost par 127.0.0.1 dans config.json",
        "edit_file",
        {"path": "config.json", "old_text": "localhost", "new_text": "127.0.0.1", "replace_all": True},
    ),
    ("run the lint target", "run_command", {"command": "make lint"}),
    (
        "there's a typo in the readme, recieve should be receive",
        "edit_file",
        {"path": "README.md", "old_text": "recieve", "new_text": "receive", "replace_all": True, "whole_word": True},
    ),
    ("where do we use total", "search_files", {"pattern": "total", "context_lines": 0}),
    ("which tests fail?", "run_tests", {}),
    ("notes.txt", "read_file", {"path": "notes.txt"}),
    (
        "replace cart with basket in src/cart.py",
        "edit_file",
        {"path": "src/cart.py", "old_text": "cart", "new_text": "basket", "replace_all": True, "whole_word": True},
    ),
    ("show the diff of src/cart.py", "git_diff", {"paths": ["src/cart.py"]}),
    ("mkdir tests/data", "run_command", {"command": "mkdir tests/data"}),
    ("pytest", "run_command", {"command": "pytest"}),
    ("make test", "run_command", {"command": "make test"}),
    ("go test ./...", "run_command", {"command": "go test ./..."}),
    ("python src/cart.py", "run_command", {"command": "python src/cart.py"}),
    ("notes.txt no se usa, bórralo", "delete_file", {"path": "notes.txt"}),
    ("notes.txt non serve più, cancellalo", "delete_file", {"path": "notes.txt"}),
    ("list the files", "list_files", {"pattern": "*"}),
    ("which files are there?", "list_files", {"pattern": "*"}),
    ("print the first 5 lines of src/cart.py", "read_file", {"path": "src/cart.py", "offset": 1, "limit": 5}),
    ("last 3 commits", "run_command", {"command": "git log --oneline -n 3"}),
    ("search total in src", "search_files", {"pattern": "total", "context_lines": 0, "path": "src"}),
    ('search for "total" in the src folder', "search_files", {"pattern": "total", "context_lines": 0, "path": "src"}),
    ("grep src/ for total", "search_files", {"pattern": "total", "context_lines": 0, "path": "src"}),
    ("suche nach total im Ordner src", "search_files", {"pattern": "total", "context_lines": 0, "path": "src"}),
    ("cherche total dans src", "search_files", {"pattern": "total", "context_lines": 0, "path": "src"}),
    ("what have I changed so far?", "git_status", {}),
    ("what is in the json file?", "read_file", {"path": "config.json"}),
    ("welche Dateien gibt es?", "list_files", {"pattern": "*"}),
    ("liste les fichiers python", "list_files", {"pattern": "*.py"}),
    ("muestra todos los archivos", "list_files", {"pattern": "*"}),
    ("elenca i file", "list_files", {"pattern": "*"}),
    ("ファイルの一覧を見せて", "list_files", {"pattern": "*"}),
    ("show me the file src/cart.py please", "read_file", {"path": "src/cart.py"}),
    ("open README", "read_file", {"path": "README.md"}),
    ("zeig mir notes.txt", "read_file", {"path": "notes.txt"}),
    ("notes.txtを見せて", "read_file", {"path": "notes.txt"}),
    ('find "TODO"', "search_files", {"pattern": "TODO", "context_lines": 0}),
    ("suche nach „Korb“", "search_files", {"pattern": "Korb", "context_lines": 0}),
    ("where is total used?", "search_files", {"pattern": "total", "context_lines": 0}),
    ("run `make test`", "run_command", {"command": "make test"}),
    ("run python3 --version", "run_command", {"command": "python3 --version"}),
    ("run the tests", "run_tests", {}),
    ("führe die Tests aus", "run_tests", {}),
    ("テストを実行して", "run_tests", {}),
    ("git status", "git_status", {}),
    ("what changed?", "git_status", {}),
    ("show me the git diff", "git_diff", {}),
    (
        'create a file hi.txt with the content "hello there"',
        "write_file",
        {"path": "hi.txt", "content": "hello there\n"},
    ),
    ("delete notes.txt", "delete_file", {"path": "notes.txt"}),
    ("lösche notes.txt", "delete_file", {"path": "notes.txt"}),
    ("rename notes.txt to todo.txt", "move_file", {"path": "notes.txt", "new_path": "todo.txt"}),
    ("move notes.txt to docs/", "move_file", {"path": "notes.txt", "new_path": "docs/notes.txt"}),
    ("rename notes.txt to notes.md", "move_file", {"path": "notes.txt", "new_path": "notes.md"}),
    ("notes.txt isnt text, rename it to notes.md", "move_file", {"path": "notes.txt", "new_path": "notes.md"}),
    ("notes.txt belongs in docs, move it to docs/", "move_file", {"path": "notes.txt", "new_path": "docs/notes.txt"}),
    ("notes.txt is not used anymore, delete it", "delete_file", {"path": "notes.txt"}),
    ("notes.txt n'est plus utile, supprime-la", "delete_file", {"path": "notes.txt"}),
    ("die notes.txt ist leer, lösche sie", "delete_file", {"path": "notes.txt"}),
]


CALLS += [
    ("have a look at src/cart.py, would you", "read_file", {"path": "src/cart.py"}),
    ("what does line 3 of notes.txt say?", "read_file", {"path": "notes.txt", "offset": 3, "limit": 1}),
    ("show me lines 2 to 4 of notes.txt", "read_file", {"path": "notes.txt", "offset": 2, "limit": 3}),
    ("files in src?", "list_files", {"pattern": "*", "path": "src"}),
    ("does anything still call add_item?", "search_files", {"pattern": "add_item", "context_lines": 0}),
    ("any TODOs left?", "search_files", {"pattern": "TODO", "context_lines": 0}),
    ("who uses Cart", "search_files", {"pattern": "Cart", "context_lines": 0}),
    ("git log --oneline", "run_command", {"command": "git log --oneline"}),
    ("grep -rn total .", "run_command", {"command": "grep -rn total ."}),
    ("pls run echo hi there", "run_command", {"command": "echo hi there"}),
    ("mv notes.txt old.txt", "move_file", {"path": "notes.txt", "new_path": "old.txt"}),
    ("touch docs/faq.md", "write_file", {"path": "docs/faq.md", "content": ""}),
    ("what is this project?", "read_file", {"path": "README.md", "offset": 1, "limit": 40}),
    ("worum geht es hier?", "read_file", {"path": "README.md", "offset": 1, "limit": 40}),
    ("c'est quoi ce projet", "read_file", {"path": "README.md", "offset": 1, "limit": 40}),
    ("list all functions in src/cart.py", "get_symbols", {"path": "src/cart.py"}),
    ("please run only the tests for cart", "run_tests", {"path": "tests/test_cart.py"}),
    ("can you run src/tax.py and tell me the results", "run_command", {"command": "python3 src/tax.py"}),
    ("run only test_regex and tell me if it passes", "run_tests", {"filter": "test_regex"}),
    ("which branch am I on?", "git_status", {}),
    ("todos in tax?", "search_files", {"pattern": "TODO", "context_lines": 0, "path": "src/tax.py"}),
    (
        "show me the tests for add_item",
        "search_files",
        {"pattern": r"\badd_item\b", "context_lines": 0, "file_pattern": "*test*"},
    ),
    ('commit everything, msg "wip"', "git_commit", {"message": "wip", "all": True}),
    ('commit this with the message "Name it"', "git_commit", {"message": "Name it"}),
    ("new file VERSION containing 0.3.1", "write_file", {"path": "VERSION", "content": "0.3.1\n"}),
    (
        "let's call total `amount` instead (src/cart.py)",
        "edit_file",
        {"path": "src/cart.py", "old_text": "total", "new_text": "amount", "replace_all": True, "whole_word": True},
    ),
    (
        "typo: teh -> the in README.md",
        "edit_file",
        {"path": "README.md", "old_text": "teh", "new_text": "the", "replace_all": True, "whole_word": True},
    ),
]


CALLS += [
    ("run python3 -c 'print(1)'", "run_command", {"command": "python3 -c 'print(1)'"}),
    ("run node src/server.js in the background", "start_process", {"command": "node src/server.js"}),
    ("run `make watch` in the background", "start_process", {"command": "make watch"}),
    ("run g++ -o prog main.cpp && ./prog", "run_command", {"command": "g++ -o prog main.cpp && ./prog"}),
    ("run .venv/bin/pip install requests", "run_command", {"command": ".venv/bin/pip install requests"}),
    ("run ./build.sh", "run_command", {"command": "./build.sh"}),
    ("move notes.txt to docs/notes.txt", "move_file", {"path": "notes.txt", "new_path": "docs/notes.txt"}),
    ("what changed in the last commit?", "run_command", {"command": "git show --stat HEAD"}),
    ("zeig mir den letzten Commit", "run_command", {"command": "git show --stat HEAD"}),
    ("montre-moi le dernier commit", "run_command", {"command": "git show --stat HEAD"}),
    ('run echo "rm -r src" and tell me what it says', "run_command", {"command": 'echo "rm -r src"'}),
    ('run git log --format="%h %s"', "run_command", {"command": 'git log --format="%h %s"'}),
    ('please run "make test"', "run_command", {"command": "make test"}),
    (
        "s/teh/the/ in README.md",
        "edit_file",
        {"path": "README.md", "old_text": "teh", "new_text": "the", "replace_all": True},
    ),
]


CALLS += [
    ("run ruff check src/cart.py", "run_command", {"command": "ruff check src/cart.py"}),
    ("run cp notes.txt b.txt", "run_command", {"command": "cp notes.txt b.txt"}),
    ("run make hello", "run_command", {"command": "make hello"}),
    ("which files import json?", "search_files", {"pattern": r"\bjson\b", "context_lines": 0}),
    ("welche Dateien benutzen Cart", "search_files", {"pattern": r"\bCart\b", "context_lines": 0}),
]


@rows("sentence, tool, arguments", CALLS)
def test_MOD_23_a_sentence_that_needs_no_model_is_one_call(sentence: str, tool: str, arguments: dict[str, Any]) -> None:
    found = route(sentence, FILES)
    assert isinstance(found, Routed)
    assert (found.tool, dict(found.arguments)) == (tool, arguments)


EDITS: list[tuple[str, str, LineEdit]] = [
    ('add "import os" at the top of src/tax.py', "src/tax.py", Insert("import os", AtLine(1))),
    ("add import sys to src/tax.py", "src/tax.py", Insert("import sys", AmongImports())),
    ("add an import of os to src/tax.py", "src/tax.py", Insert("import os", AmongImports())),
    ('füge "Brot" am Ende von notes.txt ein', "notes.txt", Insert("Brot", AtLine(0))),
    ('insert "tea" after line 2 in notes.txt', "notes.txt", Insert("tea", AtLine(3, beside=2))),
    ('add "tea" before "eggs" in notes.txt', "notes.txt", Insert("tea", Beside("eggs", after=False))),
    ("remove line 3 from notes.txt", "notes.txt", Remove(3)),
    ('delete the line "eggs" from notes.txt', "notes.txt", Remove("eggs")),
    ("set RATE to 0.3 in src/tax.py", "src/tax.py", SetValue("RATE", "0.3")),
    ('change name to "shop" in config.json', "config.json", SetValue("name", "shop")),
]


EDITS += [
    ("add spinach to the end of notes.txt", "notes.txt", Insert("spinach", AtLine(0))),
    ("after the third line of notes.txt insert dill, please", "notes.txt", Insert("dill", AtLine(4, beside=3))),
    ("Füge nach der dritten Zeile von notes.txt „Dill“ ein", "notes.txt", Insert("Dill", AtLine(4, beside=3))),
    ('before the line "return x" in src/tax.py add print("y", x)', "src/tax.py", Insert('print("y", x)', Beside("return x", after=False))),
    ("supprime la dernière ligne de notes.txt stp", "notes.txt", Remove(-1)),
    ("delete the last two lines of notes.txt", "notes.txt", Remove(-2, -1)),
    ("remove lines 3 to 5 from notes.txt", "notes.txt", Remove(3, 5)),
    ("remove lines 4 and 5 from notes.txt", "notes.txt", Remove(4, 5)),
    ("remove the first ten lines of notes.txt", "notes.txt", Remove(1, 10)),
    ("lösche die letzten zwei Zeilen von notes.txt", "notes.txt", Remove(-2, -1)),
    ("supprime les 3 dernières lignes de notes.txt", "notes.txt", Remove(-3, -1)),
    ("borra las líneas 2 a 4 de notes.txt", "notes.txt", Remove(2, 4)),
    ("cancella le ultime due righe di notes.txt", "notes.txt", Remove(-2, -1)),
    ("notes.txtの3行目から5行目まで削除して", "notes.txt", Remove(3, 5)),
    ("remvoe notes.txt:5", "notes.txt", Remove(5)),
    ("in config.json delete the port line", "config.json", Remove("port")),
    ("replace line 2 of notes.txt with oregano", "notes.txt", Rewrite(2, "oregano")),
    ("change RATE from 0.2 to 0.3 in src/tax.py, it is too low", "src/tax.py", SetValue("RATE", "0.3")),
    ("RATE in src/tax.py ought to be 0.3", "src/tax.py", SetValue("RATE", "0.3")),
    ("make the theme in config.json dark", "config.json", SetValue("theme", "dark")),
    ("Könntest du VERBOSE in src/tax.py einschalten?", "src/tax.py", SetValue("VERBOSE", "true")),
    ('add the docstring "Adds tax." to add_tax in src/tax.py', "src/tax.py", Document("add_tax", "Adds tax.")),
    ('put the comment "why" above `x = 1` in src/tax.py', "src/tax.py", Comment("why", Beside("x = 1", after=False))),
    ("right after f(); in src/tax.py add g();", "src/tax.py", Insert("g();", Beside("f();", after=True))),
    ("get rid of the port key in the json file", "config.json", Remove("port")),
    ("put the line buy new ink at the very end of notes.txt", "notes.txt", Insert("buy new ink", AtLine(0))),
    ("add tea to notes.txt as a new entry", "notes.txt", Insert("tea", AtLine(0))),
    ('add the line "tea" to notes.txt', "notes.txt", Insert("tea", AtLine(0))),
    ("remove milk from notes.txt", "notes.txt", RemoveEntry("milk")),
    ("add a line to notes.txt: call Petra about the invoice", "notes.txt", Insert("call Petra about the invoice", AtLine(0))),
    ("add the note ask Tom about keys to notes.txt", "notes.txt", Insert("ask Tom about keys", AtLine(0))),
    ("change the number of workers to 8 in config.json", "config.json", SetValue("workers", "8")),
    ("switch colour from auto to never in config.json", "config.json", SetValue("colour", "never")),
    ('add "port": 8080 to config.json', "config.json", AddSetting("port", "8080")),
    ('add `"port": 8080` to config.json', "config.json", AddSetting("port", "8080")),
    ("add port = 8080 to config.json", "config.json", AddSetting("port", "8080")),
    ('add a key called theme with the value "dark" to config.json', "config.json", AddSetting("theme", '"dark"')),
    ("add the setting retries 3 to config.json", "config.json", AddSetting("retries", "3")),
    ("ajoute la clé port: 8080 dans config.json", "config.json", AddSetting("port", "8080")),
    ("replace line 3 of notes.txt with buy more coffee", "notes.txt", Rewrite(3, "buy more coffee")),
    ("comment out line 7 in src/cart.py", "src/cart.py", Commented(7, out=True)),
    ("uncomment line 7 in src/cart.py", "src/cart.py", Commented(7, out=False)),
    ("add a comment at the top of src/cart.py saying entry point", "src/cart.py", Comment("entry point", AtLine(1))),
    ("would you mind removing line 2 from notes.txt?", "notes.txt", Remove(2)),
    ("entferne milk aus notes.txt", "notes.txt", RemoveEntry("milk")),
    ("would you mind adding `y = 2` below `x = 1` in src/tax.py?", "src/tax.py", Insert("y = 2", Beside("x = 1", after=True))),
]  # fmt: skip


@rows("sentence, path, edit", EDITS)
def test_MOD_23_a_line_that_is_named_is_read_and_changed(sentence: str, path: str, edit: LineEdit) -> None:
    assert route(sentence, FILES) == Edited(path, edit)


ENDS = [
    ("which log level is set?", ValueOf(("log", "level"))),
    ("what's the tax rate in config.json", ValueOf(("tax", "rate"), "config.json")),
    ("which port does the server use?", ValueOf(("port",))),
    ("how many workers are there", ValueOf(("workers",))),
    ("welcher Port ist eingestellt?", ValueOf(("port",))),
    ("quel est le port", ValueOf(("port",))),
    ("cuál es el puerto", ValueOf(("puerto",))),
    ("qual è la porta", ValueOf(("porta",))),
    ("what is the purpose of this", None),
    ("what is a monad", None),
    ("what's the difference between a and b", None),
    ("how many lines has notes.txt?", Tail("notes.txt", 0)),
    ("how many lines are in src/cart.py", Tail("src/cart.py", 0)),
    ("count the lines of notes.txt", Tail("notes.txt", 0)),
    ("wie viele Zeilen hat notes.txt?", Tail("notes.txt", 0)),
    ("combien de lignes contient notes.txt ?", Tail("notes.txt", 0)),
    ("cuántas líneas tiene notes.txt", Tail("notes.txt", 0)),
    ("quante righe ha notes.txt?", Tail("notes.txt", 0)),
    ("what's the last line of notes.txt", Tail("notes.txt", 1)),
    ("show me the last 3 lines of notes.txt", Tail("notes.txt", 3)),
    ("zeig mir die letzten 3 Zeilen von notes.txt", Tail("notes.txt", 3)),
    ("Can I see the last three lines of notes.txt?", Tail("notes.txt", 3)),
    ("linecount of notes.txt?", Tail("notes.txt", 0)),
    ("what does total() return", Define("total")),
    ("let me see the function `total`", Define("total")),
    (
        'theres a typo in a comment in src/cart.py, "importtlib" should be "importlib". fix pls',
        replaced_everywhere("src/cart.py", "importtlib", "importlib"),
    ),
    ("remove the unused import of sys in src/cart.py", Edited("src/cart.py", Remove("import sys"))),
    (
        "add import sys to src/cart.py, i need it there later",
        Edited("src/cart.py", Insert("import sys", AmongImports())),
    ),
    ("change the author in config.json to Jane Doe", Edited("config.json", SetValue("author", "Jane Doe"))),
    ("change the title in README.md to My Shop", Edited("README.md", Title("My Shop"))),
    ("Change the title in README.md to A small shop", Edited("README.md", Title("A small shop"))),
    ("der Titel von README.md soll Mein Laden heißen", Edited("README.md", Title("Mein Laden"))),
    ('change the heading "Usage" to "Use" in README.md', Edited("README.md", Title("Use", "Usage"))),
    ("change the title of README.md to something catchier", None),
    ("set the title of README.md to be shorter", None),
    ("what does Cart inherit from", Define("Cart")),
    ('in src/cart.py, line 12, replace "a" by "b"', None),
    ("config.json: debug -> true", Edited("config.json", SetValue("debug", "true"))),
    ("change the mail port in config.json from 25 to 587", Edited("config.json", SetValue("mail port", "587"), True)),
    ("set the wind limit to 42 knots", Missing(FILE, "wind limit", guessed=True)),
    ("add de to the list of languages in config.json", Edited("config.json", ListEntry("languages", "de", True), True)),
    ("take fr off the languages list in config.json", Edited("config.json", ListEntry("languages", "fr", False), True)),
    ("uncomment total in src/cart.py", Edited("src/cart.py", Commented("total", out=False))),
    ("stash my changes", Missing(OWN_GIT.format(command="git stash"))),
    ("tag this commit as v1.2", Missing(OWN_GIT.format(command="git tag v1.2"))),
    ("Ajoute s'il te plaît la ligne b à la fin de notes.txt", Edited("notes.txt", Insert("b", AtLine(0)))),
    ("how many lines of notes.txt are about tax?", None),
    ("how many lines should a function have?", None),
    ("add logging to config.json", None),
    ("add support for ports to config.json", None),
    ("add whatever port is free to config.json", None),
    ("search total in elsewhere", None),
]


@rows("sentence, found", ENDS)
def test_MOD_23_a_file_is_measured_and_its_end_shown(sentence: str, found: Route) -> None:
    assert route(sentence, FILES) == found


MISSING = {
    "delete the file": FILE,
    "delete the folder sub": NO_FOLDER.format(command="rm -r sub"),
    'replace "milk" with "bread"': FILE,
    "rename notes.txt": NEW_NAME,
    "rename total in src/cart.py": NEW_NAME,
    'replace "milk" in notes.txt': NEW_TEXT,
    "run a command": COMMAND,
    "show lines 3 to 8": FILE,
    "open_count in src/cart.py, could you rename that one": NEW_NAME,
    "put a comment above f in src/cart.py": NEW_TEXT,
    "add a docstring to total in src/cart.py please": DOCSTRING,
    "install the dependencies so that i can run the tests": COMMAND,
    "commit everything": MESSAGE,
    "install requests": COMMAND,
    "run the linter": COMMAND,
    "format the code": COMMAND,
    "create a new branch called fix-it and switch to it": BRANCH.format(name="fix-it"),
    "rename add_item to add everywhere, also in the tests": FILE,
    "fix the teh typo in README.md": 'With which text? As in: replace "teh" with "NEW" in README.md',
    'add the line "x = 1" to src/cart.py': PLACE.format(text="x = 1", file="src/cart.py"),
    "add .vscode to the gitignore": 'There is no .gitignore. To make one: create .gitignore with ".vscode"',
}


@rows("sentence", MISSING)
def test_MOD_23_what_lacks_a_part_is_asked_for_that_part(sentence: str) -> None:
    found = route(sentence, FILES)
    assert isinstance(found, Missing)
    assert found.question == MISSING[sentence]


@rows(
    "sentence",
    [
        "good morning!",
        "hey there :)",
        "Bonjour !",
        "what can you do?",
        "help",
        "hello, are you there?",
        "Hey, first time I use this. How do I start?",
        "hey there, just installed this extension. how does it work",
        "was kannst du?",
        "que sais-tu faire ?",
        "何ができますか",
    ],
)
def test_MOD_23_who_asks_what_can_be_done_is_told(sentence: str) -> None:
    assert route(sentence, FILES) == Help()


@rows(
    "sentence",
    [
        "undo that",
        "Undo!",
        "how do I undo the last change?",
        "undo the rename in src/cart.py",
        "can you take that back?",
        "mach das rückgängig",
        "annule les modifications",
        "deshaz eso",
        "annulla l'ultima modifica",
        "元に戻してください",
    ],
)
def test_MOD_23_who_wants_something_undone_is_told_how(sentence: str) -> None:
    assert route(sentence, FILES) == Help("undo")


@rows(
    "sentence",
    [
        "explain src/cart.py",
        "refactor the cart class",
        "fix the bug in src/tax.py",
        "write a function that sorts numbers",
        "what does src/cart.py do?",
        "translate README.md into French",
        "show how to sort a list in python",
        "why does the test fail?",
        "delete all comments in src/cart.py",
        "create a class for users",
        "find the bug",
        "erkläre src/cart.py",
        "remove the unused imports from src/cart.py",
        "add error handling to the end of src/cart.py",
        "add a table of contents at the top of README.md",
        "change the loop in src/cart.py to a comprehension",
        "replace print with logging in src/cart.py",
        "create a file src/test_tax.py with tests for the tax",
        "make src/cart.py faster",
        "delete notes.txt if nothing uses it",
        "rename total to amount in src/cart.py and then run the tests",
        "put the line that sets RATE at the end of src/tax.py",
        "add logging to src/cart.py",
        "borra la línea 2 de notes.txt y después escribe una función",
        "run only the tests for parsing",
        "rename this variable to something clearer",
        "docstring of Cart.total is empty, write a short one",
        "which file uses Cart? I don't mean where the class is defined",
        "zeig mir alle dateien außer den tests",
        "rename total to amount in src/cart.py, as src/tax.py has it",
        "which files are there and what are they for?",
        "list the files and run the tests",
        "Welche Dateien gibt es und was machen sie?",
        "quels fichiers y a-t-il et que font-ils ?",
        "qué archivos hay y qué hacen",
        "quali file ci sono e cosa fanno",
        "there is dead code in src/cart.py, remove it",
        "src/cart.py has a function total, delete it",
        "src/cart.py is where total lives, delete it",
        "remove lines 3 and 5 from notes.txt",
        "remove line 3 and line 7 from notes.txt",
        "remove the first few lines of notes.txt",
        "the name of this project in README.md is wrong",
        "in src/cart.py rename the loop variable and the counter",
        "add a semicolon after every line in src/cart.py",
        "append a summary of this week's work to notes.txt",
        "make tests faster",
        "go home",
        "remove duplicates from notes.txt",
        "remove the milk from notes.txt",
        "remove everything from notes.txt",
        "add a line about the release to notes.txt",
        "add a note explaining the tax to README.md",
        "replace line 3 of notes.txt with something shorter",
        "replace line 3 of notes.txt with line 4",
        "replace total with float in src/cart.py",
        "replace tabs with spaces in src/cart.py",
        "one day we will move notes.txt to docs",
        "translate into German: delete the file notes.txt",
        "find bugs",
        "\ud800 notes.txt",
        "show notes.txt, then remove line 2",
        "build it and run the tests",
        '"hello world" is still on the start page of this',
    ],
)
def test_MOD_23_what_no_rule_is_sure_of_is_left_alone(sentence: str) -> None:
    assert route(sentence, FILES) is None


GUIDED = Path(__file__).parents[1] / "cases" / "guided"
SHOP = frozenset(
    {
        "README.md", "CHANGELOG.md", "pyproject.toml", "cart.py", "shop/__init__.py", "shop/orders.py", "shop/tax.py",
        "shop/models/user.py", "tests/test_orders.py", "tests/test_tax.py", "docs/guide.md", "docs/api.md",
        "config.yaml", "settings.json", "notes.txt", "web/app.js", "web/index.html", "scripts/deploy.sh",
        "requirements.txt", ".gitignore", "Makefile",
    }
)  # fmt: skip
LOOKS = {"read_file", "search_files", "list_files", "get_symbols", "git_status", "git_diff"}
ASK_FOR_NO_EDIT = [
    line
    for file in ("unchanged.txt", "misread.txt", "two_unwished.txt", "plain_unwished.txt")
    for line in (GUIDED / file).read_text("utf-8").splitlines()
]
NOT_THE_FILE = (GUIDED / "not_the_file.txt").read_text("utf-8").splitlines()


def done_for(sentence: str, files: AbstractSet[str]) -> list[Route]:
    """Returns what the rules do for a sentence; nothing if a part of one of its wishes is missing."""
    found = [route(wish, files) for wish in wishes_in(sentence, files)]
    return [] if any(isinstance(each, Missing) for each in found) else found


@rows("sentence", ASK_FOR_NO_EDIT)
def test_MOD_23_nothing_is_changed_or_run_for_what_asks_for_no_one_edit(sentence: str) -> None:
    """Written by somebody who had not seen the rules (complaints, questions, negations, two wishes at once), and by
    somebody who had, and looked for sentences that they misread."""
    for found in done_for(sentence, SHOP):
        assert not isinstance(found, Edited) or (found.guessed and is_not_set(found))
        assert not isinstance(found, Routed) or found.tool in LOOKS


USUAL = ("debug: false", "port: 8000", "host: local", "name: shop", "theme: light", "timeout: 30", "version: '1.0'")
"""Settings of a usual file, of each type."""


def is_not_set(guess: Edited) -> bool:
    """Returns whether a guess changes nothing in a file with usual settings."""
    try:
        plan_edit("config.yaml", guess.edit, (*USUAL, "total: 3", "level: info", "users: 2", "color: red"))
    except NoPlace:
        return True
    return False


SMALL: Mapping[str, tuple[str, ...]] = {
    "src/app/orders.py": ("MAX_ITEMS = 50", 'DEFAULT_CURRENCY = "EUR"'),
    "src/app/mailer.py": ('HOST = "localhost"', "PORT = 25", "TIMEOUT = 10"),
    "config/settings.json": ("{", '  "theme": "light",', '  "retries": 3,', '  "debug": false', "}"),
    "config/app.yaml": ("server:", "  host: 127.0.0.1", "  port: 8000", "log_level: info"),
    ".env.example": ("DEBUG=1", "SECRET_KEY=abc"),
    "pyproject.toml": ("[project]", 'name = "shop"', 'version = "0.3.1"'),
    "requirements.txt": ("requests==2.31.0", "rich>=13"),
    **dict.fromkeys(("README.md", "docs/notes.md", ".gitignore", "tests/test_orders.py", "web/greet.js"), ()),
}
"""A small project: what its files set."""


@rows("sentence", (GUIDED / "settings_unwished.txt").read_text("utf-8").splitlines())
def test_MOD_23_nothing_is_set_for_what_only_speaks_of_settings(sentence: str) -> None:
    """Written by somebody who had not seen the rules: what is, was or may be, questions, choices, vague wishes."""
    for found in done_for(sentence, SMALL.keys()):
        assert not isinstance(found, Routed) or found.tool in LOOKS or found.tool == "run_tests"
        if isinstance(found, Edited):
            with pytest.raises(NoPlace):
                plan_edit(found.path, found.edit, SMALL[found.path])


@pytest.mark.parametrize(
    ("sentence", "path", "name", "value"),
    [
        ("make the theme dark in settings", "settings.json", "theme", "dark"),
        ("timeout in settings 30 please", "settings.json", "timeout", "30"),
        ("log level debug in config.yaml", "config.yaml", "log level", "debug"),
        ("debug shold be 0 in config.yaml", "config.yaml", "debug", "0"),
        ("port=9000 in the config file", "config.yaml", "port", "9000"),
        ("retries in settings 5 not 3", "settings.json", "retries", "5"),
        ("muda a versão para 1.0.0 no pyproject", "pyproject.toml", "version", "1.0.0"),
    ],
)
def test_MOD_23_a_name_and_a_value_are_enough_if_each_word_is_accounted_for(
    sentence: str, path: str, name: str, value: str
) -> None:
    found = route(sentence, SHOP)
    assert isinstance(found, Edited)
    assert (found.path, found.edit) == (path, SetValue(name, value))


@pytest.mark.parametrize(
    ("path", "lines", "name", "changed"),
    [
        ("a.py", ("MAX_ITEMS = 5", "x = 1"), "max items", "MAX_ITEMS = 9"),
        ("a.json", ("{", '  "maxItems": 5', "}"), "max items", '  "maxItems": 9'),
        ("a.toml", ("[project]", "name = 7", "[tool]", "id = 1"), "project name", "name = 9"),
    ],
)
def test_MOD_23_a_name_is_found_as_the_file_spells_it(
    path: str, lines: tuple[str, ...], name: str, changed: str
) -> None:
    assert plan_edit(path, SetValue(name, "9"), lines)["new_text"] == changed


@pytest.mark.parametrize("name", ["max items", "Max_Items"])
def test_MOD_23_of_two_names_that_may_be_meant_none_is_set(name: str) -> None:
    with pytest.raises(NoPlace):
        plan_edit("a.py", SetValue(name, "9"), ("MAX_ITEMS = 5", "max_items = 6"))


@pytest.mark.parametrize(
    "sentence",
    [
        "delete the settings",
        "remove settings",
        "move the settings to web",
        "delete notes",
        "rename settings to options",
    ],
)
def test_MOD_23_a_plain_word_names_no_file_to_delete_or_move(sentence: str) -> None:
    for found in done_for(sentence, SHOP):
        assert not isinstance(found, Routed) or found.tool in LOOKS


@pytest.mark.parametrize(
    ("sentence", "wishes"),
    [
        ("theme dark and retries 4 in settings", ("theme dark in settings.json", "retries 4 in settings")),
        ("show me requirements and also config.yaml", ("show me requirements", "show config.yaml")),
        ("set debug to true in config.yaml and set port to 5 there", None),
        ("bump version to 0.4.0 then commit as new version", None),
        ("where is load_orders and who imports json", None),
    ],
)
def test_MOD_23_two_wishes_may_share_a_file_or_leave_it_to_be_found(
    sentence: str, wishes: tuple[str, ...] | None
) -> None:
    found = wishes_in(sentence, SHOP)
    assert len(found) == 2
    assert found == (wishes or found)


def test_MOD_23_a_wish_before_the_tests_is_not_left_out() -> None:
    sentence = "setz retries auf 7 und lass dann die tests laufen"
    assert [found for found in done_for(sentence, SHOP) if isinstance(found, Routed)] == []


@rows("sentence", (GUIDED / "wished.txt").read_text("utf-8").splitlines())
def test_MOD_23_one_thing_that_is_spelled_out_is_done(sentence: str) -> None:
    found = route(sentence, SHOP)
    assert isinstance(found, Edited | Routed)
    assert not isinstance(found, Routed) or found.tool not in LOOKS


@rows("sentence", (GUIDED / "two_wished.txt").read_text("utf-8").splitlines())
def test_MOD_23_several_plain_wishes_are_several(sentence: str) -> None:
    """Written by somebody who had not seen the rules."""
    assert len(wishes_in(sentence, SHOP)) > 1


@rows("sentence", (GUIDED / "plain_wished.txt").read_text("utf-8").splitlines())
def test_MOD_23_what_people_type_is_taken(sentence: str) -> None:
    """Written by somebody who had not seen the rules, as different people type: sloppy, polite, without quotes."""
    found = [route(wish, SHOP) for wish in wishes_in(sentence, SHOP)]
    assert found
    assert not any(isinstance(each, Missing) for each in found)


@rows("sentence", NOT_THE_FILE)
def test_MOD_23_a_file_is_no_it_that_another_clause_speaks_of(sentence: str) -> None:
    """Written by somebody who had not seen the rules: "there is dead code in cart.py, remove it"."""
    for found in done_for(sentence, SHOP):
        assert not isinstance(found, Routed) or found.tool not in {"delete_file", "move_file"}


@rows(
    "sentence, tool, arguments",
    [
        ("show me 'a b.py'", "read_file", {"path": "a b.py"}),
        ('read "docs/my notes.md"', "read_file", {"path": "docs/my notes.md"}),
        ("run 'a b.py'", "run_command", {"command": "python3 'a b.py'"}),
        ("delete `my notes.md`", "delete_file", {"path": "docs/my notes.md"}),
    ],
)
def test_MOD_23_a_file_with_a_space_in_its_name_is_one_where_it_is_quoted(
    sentence: str, tool: str, arguments: dict[str, Any]
) -> None:
    found = route(sentence, {"a b.py", "b.py", "docs/my notes.md"})
    assert isinstance(found, Routed)
    assert (found.tool, dict(found.arguments)) == (tool, arguments)


def test_MOD_23_a_word_is_shown_as_a_name_only_where_it_says_nothing_else() -> None:
    assert route("show me groupby", FILES) == Define("groupby")
    assert route("show the function total in src/cart.py", FILES) == Define("total", "src/cart.py")
    assert route("show signature of groupby", FILES) == Define("groupby")
    assert not any(
        isinstance(route(f"show me {word}", FILES), Define) for word in ("everything", "files", "tests", "it")
    )


BEYOND = {
    "refactor the cart class": WRITING,
    "add type hints to everything": WRITING,
    "write a test for total": WRITING,
    "Could you make src/cart.py faster?": WRITING,
    "why does the test fail?": QUESTION,
    "what is a monad": QUESTION,
    "I don't really understand the cart. Could you explain it?": QUESTION,
    "ci is red again, fix it": WRITING,
    "erkläre src/cart.py": QUESTION,
    "add a table of contents at the top of README.md": EDIT.format(example="replace 'OLD' with 'NEW' in README.md"),
    "change the loop to a comprehension": EDIT.format(example="replace 'OLD' with 'NEW' in FILE"),
    "purple": ANY,
    "when I update an existing key, does it keep its place?": QUESTION,
    "the cache: if i replace a key, it keeps the old place or not?": QUESTION,
    "open notes.txt and tell me what changed": QUESTION,
    "could you change the loop to a comprehension?": EDIT.format(example="replace 'OLD' with 'NEW' in FILE"),
}


WHERE_IT_RUNS = (
    "do you send my code anywhere?",
    "Who are you, and do you send my code to somewhere?",
    "is my code uploaded to the cloud",
    "where does my code go?",
    "do you need internet?",
    "do you run locally",
    "schickst du meinen Code irgendwohin?",
)


@rows("sentence", dict.fromkeys(WHERE_IT_RUNS))
def test_MOD_23_where_the_model_runs_needs_no_model(sentence: str) -> None:
    assert route(sentence, FILES) == Help("where")


WHICH_MODEL = (
    "how do I connect a model?",
    "use ollama",
    "switch to gpt-4o",
    "which model is this?",
    "what llm are you using",
    "welches Modell ist das?",
    "comment connecter un modèle",
    "¿cómo cambio de modelo?",
)


@rows("sentence", dict.fromkeys(WHICH_MODEL))
def test_MOD_23_who_asks_for_the_model_is_told_how_one_is_connected(sentence: str) -> None:
    assert route(sentence, FILES) == Help("model")


@rows("sentence", dict.fromkeys(("thanks", "Thank you!", "merci beaucoup", "perfect, thanks", "bye")))
def test_MOD_23_thanks_are_taken(sentence: str) -> None:
    assert route(sentence, FILES) == Help("thanks")


@rows("sentence", dict.fromkeys(("add a model", "which model class is in src/cart.py?", "great, now make it faster")))
def test_MOD_23_a_model_may_be_something_else(sentence: str) -> None:
    assert not isinstance(route(sentence, FILES), Help)


def test_MOD_23_a_file_of_tests_is_told_by_its_name() -> None:
    files = frozenset({"tests/test_keys.py", "a.py"})
    asked = route("run only test_keys", files)
    assert asked == Routed(Intent.EXECUTE, "run_tests", {"path": "tests/test_keys.py"})
    assert route("run only test_add", files) == Routed(Intent.EXECUTE, "run_tests", {"filter": "test_add"})


@rows("sentence", BEYOND)
def test_MOD_23_what_is_declined_is_declined_by_its_kind(sentence: str) -> None:
    assert route(sentence, FILES) is None
    assert decline(read_sentence(sentence, FILES)) == BEYOND[sentence]


IN_QUOTES = {
    "replace print with logging in src/cart.py": 'replace "print" with "logging" in src/cart.py',
    "change line 3 of notes.txt to buy bread": 'change line 3 of notes.txt to "buy bread"',
}


@rows("sentence", IN_QUOTES)
def test_MOD_23_a_sentence_whose_texts_are_plain_words_is_given_back_in_quotes(sentence: str) -> None:
    ending = next_step([UserMessage(sentence)], {}, FILES)
    assert isinstance(ending, Ending)
    assert ending == suggest(IN_QUOTES[sentence])
    assert isinstance(route(IN_QUOTES[sentence], FILES), Edited | Routed)


WISHES_OF = {
    'add "milk" to the end of notes.txt, remove the first line': (
        'add "milk" to the end of notes.txt',
        "remove the first line in notes.txt",
    ),
    "run make hello and show git status": ("run make hello", "show git status"),
    "delete notes.txt and run make hello": ("delete notes.txt", "run make hello"),
    "run make hello and run the tests": ("run make hello", "run the tests"),
    "run make lint, then make stock": ("run make lint", "make stock"),
    "show src/tax.py and then set RATE to 0.2 in it": ("show src/tax.py", "set RATE to 0.2 in src/tax.py"),
    "where is total defined, and what is RATE set to?": ("where is total defined", "what is RATE set to?"),
    "RATE to 0.4 pls and show me the diff": (),
    "show notes.txt": ("show notes.txt",),
    "run the tests and show me the result": ("run the tests and show me the result",),
    "run the tests and show the diff": ("run the tests", "show the diff"),
    "delete line 5 of notes.txt and run the tests": ("delete line 5 of notes.txt", "run the tests"),
    "delete notes.txt; run the tests": ("delete notes.txt", "run the tests"),
    "lösche README.md, danach starte die Tests": ("lösche README.md", "starte die Tests"),
    "show notes.txt, then remove line 2 of notes.txt": ("show notes.txt", "remove line 2 of notes.txt"),
    "list the files and run the tests": ("list the files", "run the tests"),
    "run the tests after you change RATE to 2 in src/tax.py": ("change RATE to 2 in src/tax.py", "run the tests"),
    "after deleting notes.txt, run the tests": ("delete notes.txt", "run the tests"),
    "delete notes.txt and commit": ("delete notes.txt", "commit with the message “Delete notes.txt”"),
    "rinomina notes.txt in a.txt e fai un commit": (
        "rinomina notes.txt in a.txt",
        "commit with the message “Rinomina notes.txt in a.txt”",
    ),
    'please add "a" to notes.txt, run the tests and commit everything': (
        'please add "a" to notes.txt',
        "run the tests",
        'commit everything with the message “Add "a" to notes.txt”',
    ),
    "show src/cart.py and src/tax.py": ("show src/cart.py", "show src/tax.py"),
    'add the bullet "- b" right below "- a" in README.md and print the whole file': (
        'add the bullet "- b" right below "- a" in README.md',
        "show README.md",
    ),
    "how many lines does the readme have and who wrote the last commit": (
        "how many lines does the readme have",
        "who wrote the last commit",
    ),
    "set RATE to 2 in src/cart.py and src/tax.py and commit it": (
        "set RATE to 2 in src/cart.py",
        "set RATE to 2 in src/tax.py",
        "commit with the message “Set RATE to 2 in src/cart.py and src/tax.py”",
    ),
    'replace "a" with "b" between src/cart.py and src/tax.py': (),
    'replace "a" with "b" in notes.txt; delete src/tax.py': ('replace "a" with "b" in notes.txt', "delete src/tax.py"),
    "rename total to amount in src/cart.py and then run pytest": (
        "rename total to amount in src/cart.py",
        "run pytest",
    ),
    "delete notes.txt, run the tests and show the diff": ("delete notes.txt", "run the tests", "show the diff"),
    'add "a and delete src/tax.py" at the end of notes.txt and run npm test': (
        'add "a and delete src/tax.py" at the end of notes.txt',
        "run npm test",
    ),
    "lösche notes.txt und führe die Tests aus": ("lösche notes.txt", "führe die Tests aus"),
    "git status and commit everything": ("git status", "commit everything"),
    "commit everything and run the tests": (),
    "show src/cart.py and delete it": (),
    "comment out line 1 in src/cart.py and run the tests": ("comment out line 1 in src/cart.py", "run the tests"),
    "delete line 5 of notes.txt and show me the file": ("delete line 5 of notes.txt", "show notes.txt"),
    "would you mind removing line 2 from notes.txt and running the tests?": (
        "remove line 2 from notes.txt",
        "run the tests",
    ),
    "rename total to amount in src/cart.py, see @src/tax.py": (),
    "rename total to amount in src/cart.py, as src/tax.py has it": (),
    "show notes.txt and explain it": (),
    "delete notes.txt and src/tax.py": (),
    "delete notes.txt and then src/tax.py": (),
    "delete notes.txt and src/tax.py and run the tests": (),
    "delete notes.txt and run the tests?": (),
    "don't delete notes.txt and run the tests": (),
    "delete notes.txt and don't run the tests": (),
    "i'd delete notes.txt and run the tests": (),
    "delete notes.txt and run the tests if they pass": (),
    "delete notes.txt. no wait": (),
    'replace "a" with "b" in notes.txt and "c" with "d" in README.md': (),
    "list the files, run the tests, show the diff and show README.md": (),
}


@rows("sentence", WISHES_OF)
def test_MOD_23_a_sentence_wishes_for_what_rules_take_one_by_one(sentence: str) -> None:
    assert wishes_in(sentence, FILES) == WISHES_OF[sentence]


@rows(
    "line, version, after",
    [
        ("flask==2.0", "3.1", "flask==3.1"),
        ("flask>=2.0  # web", "3.1", "flask>=3.1  # web"),
        ("flask ~= 2.0 ; python_version > '3'", "3.1", "flask~=3.1 ; python_version > '3'"),
        ("flask", "3.1", "flask==3.1"),
        ("flask[async]", "3.1", "flask[async]==3.1"),
        ("flask # web", "3.1", "flask==3.1 # web"),
        ("flask<3", "3.1", None),
        ("flask>=2,<3", "3.1", None),
    ],
)
def test_MOD_23_a_requirement_gets_another_version(line: str, version: str, after: str | None) -> None:
    lines = ["click", line]
    if after is None:
        with pytest.raises(NoPlace):
            plan_edit("requirements.txt", Pin("flask", version), lines)
    else:
        assert plan_edit("requirements.txt", Pin("flask", version), lines)["new_text"] == after
    assert route(f"upgrade flask to {version} in requirements.txt", {"requirements.txt"}) == Edited(
        "requirements.txt", Pin("flask", version)
    )


@rows(
    "path, line, after",
    [
        ("a.py", "    total()", "    # total()"),
        ("a.js", "total();", "// total();"),
        ("a.sql", "SELECT 1;", "-- SELECT 1;"),
        ("a.sh", "# echo", None),
        ("a.sh", "", None),
        ("a.csv", "a,b", None),
    ],
)
def test_MOD_23_a_line_is_commented_out_and_back(path: str, line: str, after: str | None) -> None:
    lines = ["import b", line]
    if after is None:
        with pytest.raises(NoPlace):
            plan_edit(path, Commented(2, out=True), lines)
    else:
        assert plan_edit(path, Commented(2, out=True), lines)["new_text"] == after
        assert plan_edit(path, Commented(2, out=False), ["import b", after])["new_text"] == line


def test_MOD_23_the_only_line_of_a_block_is_not_commented_out() -> None:
    with pytest.raises(NoPlace):
        plan_edit("a.py", Commented(2, out=True), ["if a:", "    b()"])


PAGE = [
    "---",
    "name: shop",
    "---",
    "",
    "```",
    "# no title",
    "```",
    "# My shop  ",
    "",
    "Usage",
    "-----",
    "## usage",
    "## End",
]
TITLES = [
    (PAGE, Title("Our shop"), (8, "# Our shop  ")),
    (PAGE, Title("The end", "end"), (13, "## The end")),
    (PAGE, Title("Use", "usage"), None),
    (PAGE, Title("Use", "other"), None),
    (["Shop", "===="], Title("Our shop"), (1, "Our shop")),
    (["<html><title>Shop</title>", "<h1>Shop</h1>"], Title("Our shop"), (1, "<html><title>Our shop</title>")),
    (["only text"], Title("Our shop"), None),
]


@rows("lines, edit, after", TITLES)
def test_MOD_23_a_page_gets_another_title_and_nothing_else_changes(
    lines: list[str], edit: Title, after: tuple[int, str] | None
) -> None:
    if after is None:
        with pytest.raises(NoPlace):
            plan_edit("a.md", edit, lines)
        return
    at, line = after
    made = edited("\n".join(lines), plan_edit("a.md", edit, lines))
    assert made.split("\n") == [*lines[: at - 1], line, *lines[at:]]


LANGUAGES = [
    (
        "a.yaml",
        ["languages:", "  - en", "  - fr", "rows: 8"],
        "de",
        ["languages:", "  - en", "  - fr", "  - de", "rows: 8"],
    ),
    ("a.yaml", ["languages:", "- en"], "de", ["languages:", "- en", "- de"]),
    ("a.yaml", ["languages: [en, fr]  # spoken"], "de", ["languages: [en, fr, de]  # spoken"]),
    ("a.yaml", ["languages: []"], "de", ["languages: [de]"]),
    ("a.toml", ['languages = ["en", "fr"]', "rows = 8"], "de", ['languages = ["en", "fr", "de"]', "rows = 8"]),
    ("a.toml", ["languages = [", "    'en',", "]"], "de", ["languages = [", "    'en',", "    'de',", "]"]),
    (
        "a.json",
        ["{", '  "languages": [', '    "en"', "  ]", "}"],
        "de",
        ["{", '  "languages": [', '    "en",', '    "de"', "  ]", "}"],
    ),
    ("a.json", ['{"a": {"languages": ["en"]}}'], "de", None),
    ("a.yaml", ["languages:", "  - en"], "en", None),
    ("a.yaml", ["a:", "  languages: [en]", "b:", "  languages: [en]"], "de", None),
    ("a.yaml", ["languages: en"], "de", None),
]


@rows("path, lines, entry, after", LANGUAGES)
def test_MOD_23_an_entry_joins_its_list_and_leaves_it_and_nothing_else_changes(
    path: str, lines: list[str], entry: str, after: list[str] | None
) -> None:
    if after is None:
        with pytest.raises(NoPlace):
            plan_edit(path, ListEntry("languages", entry, added=True), lines)
        return
    made = edited("\n".join([*lines, ""]), plan_edit(path, ListEntry("languages", entry, added=True), lines))
    assert made.split("\n")[:-1] == after
    back = edited(made, plan_edit(path, ListEntry("languages", entry, added=False), after))
    assert back.split("\n")[:-1] == lines


@rows(
    "name, line",
    [("flask", 2), ("Flask", 2), ("click", 3), ("requests", 4), ("ruff", 5), ("tea", 6), ("bread", 7), ("a", None)],
)
def test_MOD_23_an_entry_is_a_whole_line_of_a_list(name: str, line: int | None) -> None:
    lines = [
        "flask-cors",
        "flask>=2 ; python_version > '3'",
        "click",
        "requests[socks] ~= 2.3",
        "ruff  # lint",
        "- tea",
    ]
    lines += ["* [ ] bread", "a", "buy a", "a"]
    if line is None:
        with pytest.raises(NoPlace):
            plan_edit("list.txt", RemoveEntry(name), lines)
    else:
        assert plan_edit("list.txt", RemoveEntry(name), lines)["line"] == line


PIECES = st.sampled_from(
    [
        "add",
        "change",
        "to",
        "the",
        "line",
        "in",
        "notes.txt",
        "3",
        '"x"',
        "`",
        "“",
        "and",
        ",",
        "delete",
        "を",
        "last",
        "(",
    ]
)


@given(st.lists(PIECES | st.text(max_size=5), max_size=30).map(" ".join))
def test_MOD_23_whatever_is_said_there_is_a_route_or_none(sentence: str) -> None:
    found = route(sentence, FILES)
    if isinstance(found, Routed):
        assert "\ue100" not in repr(found.arguments)
    if isinstance(found, Edited):
        assert found.path in FILES
        assert "\ue100" not in repr(found.edit)


TEXTS = st.text(st.sampled_from("abc= \"'01{}:,#"), max_size=12)


@given(st.lists(TEXTS, min_size=1, max_size=6), st.integers(0, 7), TEXTS)
def test_MOD_23_a_line_is_inserted_at_its_place_and_nothing_else_changes(lines: list[str], at: int, text: str) -> None:
    try:
        made = plan_edit("a.txt", Insert(text, AtLine(at)), lines)
    except NoPlace:
        return
    after = edited("\n".join(lines) + "\n", made)
    place = len(lines) if at == 0 else at - 1
    assert after == "\n".join([*lines[:place], text, *lines[place:]]) + "\n"


@given(st.lists(TEXTS, min_size=1, max_size=6), st.integers(-1, 8))
def test_MOD_23_a_line_is_removed_and_nothing_else_changes(lines: list[str], at: int) -> None:
    try:
        made = plan_edit("a.txt", Remove(at), lines)
    except NoPlace:
        assert at != -1
        assert not 1 <= at <= len(lines)
        return
    gone = len(lines) if at == -1 else at
    assert edited("\n".join(lines) + "\n", made) == "".join(f"{line}\n" for n, line in enumerate(lines, 1) if n != gone)


@given(st.lists(TEXTS, min_size=1, max_size=6), st.integers(-7, 8), st.integers(-7, 8))
def test_MOD_23_lines_are_removed_and_nothing_else_changes(lines: list[str], first: int, last: int) -> None:
    try:
        made = plan_edit("a.txt", Remove(first, last), lines)
    except NoPlace:
        made = None
    start, end = (number % (len(lines) + 1) if number < 0 else number for number in (first, last))
    outside = not (-len(lines) <= first <= len(lines) and -len(lines) <= last <= len(lines) and first and last)
    if outside or start > end:
        assert made is None
        return
    gone = set(range(start, end + 1))
    assert made is not None
    assert edited("\n".join(lines) + "\n", made) == "".join(
        f"{line}\n" for n, line in enumerate(lines, 1) if n not in gone
    )


VALUES = [
    ("a.py", "warn(x, stacklevel=5)", "stacklevel", "4", "warn(x, stacklevel=4)"),
    ("a.py", "r = get(url, mode='a', retries=3)", "mode", "b", "r = get(url, mode='b', retries=3)"),
    ("a.py", "RATE = 0.2  # of all", "RATE", "0.3", "RATE = 0.3  # of all"),
    ("a.py", "NAME: str = 'a'", "NAME", "b", "NAME: str = 'b'"),
    ("a.json", '  "port": 80,', "port", "8080", '  "port": 8080,'),
    ("a.json", '  "name": "a"', "name", "b", '  "name": "b"'),
    ("a.js", "const limit = 5;", "limit", "6", "const limit = 6;"),
    ("a.py", "VERBOSE = False", "VERBOSE", "true", "VERBOSE = True"),
    ("a.yaml", "debug: yes", "debug", "false", "debug: no"),
]


VALUES += [
    ("a.py", 'URL = "http://a.org"  # base', "URL", "http://b.org", 'URL = "http://b.org"  # base'),
    ("a.py", 'TAG = "#1"', "TAG", "#2", 'TAG = "#2"'),
    ("a.py", "    'port': 80,", "port", "81", "    'port': 81,"),
    ("a.py", "RATE = 1", "RATE", ".5", "RATE = .5"),
    ("a.py", "RATE = 1", "RATE", "1e-3", "RATE = 1e-3"),
    ("a.py", "RATE = 1", "RATE", "null", "RATE = None"),
    ("a.py", "NAME = 'a'", "NAME", "None", "NAME = None"),
    ("a.py", "NAME = 'a'", "NAME", "none", "NAME = 'none'"),
    ("a.py", "NAME = 'a'", "NAME", "5", "NAME = '5'"),
    ("a.py", "NAME = 'a'", "NAME", "true", "NAME = 'true'"),
    ("a.py", "NAME = 'a'", "NAME", "it's", 'NAME = "it\'s"'),
    ("a.py", "LEVEL = 5", "LEVEL", "high", 'LEVEL = "high"'),
    ("a.py", "SIZES = 5", "SIZES", "[1, 2]", "SIZES = [1, 2]"),
    ("a.py", "def f(rate=0.2):", "rate", "0.3", "def f(rate=0.3):"),
    ("a.py", "def f(a, rate: float = 0.2, b=1):", "rate", "0.3", "def f(a, rate: float = 0.3, b=1):"),
    ("a.py", 'f("rate=1", rate=2)', "rate", "3", 'f("rate=1", rate=3)'),
    ("a.ts", "export const rate: number = 5", "rate", "6", "export const rate: number = 6"),
    ("a.js", "  port: 80, // of the server", "port", "81", "  port: 81, // of the server"),
    ("a.js", "let user = 'a';", "user", "None", "let user = null;"),
    ("a.js", "let url = 'http://a.org'; // base", "url", "http://b.org", "let url = 'http://b.org'; // base"),
    ("A.java", "    private static final int RATE = 5;", "RATE", "6", "    private static final int RATE = 6;"),
    ("a.go", "\trate := 0.5 // of all", "rate", "1", "\trate := 1.0 // of all"),
    ("a.json", '  "on": true,', "on", "False", '  "on": false,'),
    ("a.json", '  "on": "a",', "on", "None", '  "on": null,'),
    ("a.json", '  "rate": 1,', "rate", ".5", '  "rate": 0.5,'),
    ("a.json", '  "url": "http://a.org#b"', "url", "http://b.org", '  "url": "http://b.org"'),
    ("a.yaml", "theme: light # or dark", "theme", "dark", "theme: dark # or dark"),
    ("a.yaml", "title: A shop", "title", "Tea: the shop", 'title: "Tea: the shop"'),
    ("a.yaml", "country: de", "country", "no", 'country: "no"'),
    ("a.yaml", "url: http://a.org#top", "url", "http://b.org", "url: http://b.org"),
    ("a.yaml", "version: '1.0'", "version", "1.1", "version: '1.1'"),
    ("a.yaml", "rate: 1", "rate", "1e-3", "rate: 1.0e-3"),
    ("a.yaml", "rate: 1", "rate", "None", "rate: null"),
    ("a.toml", 'name = "a" # b', "name", "c", 'name = "c" # b'),
    ("a.toml", "debug = false", "debug", "True", "debug = true"),
    ("a.ini", "name = my shop  ; of tea", "name", "our shop", "name = our shop  ; of tea"),
    ("a.cfg", "debug: on", "debug", "false", "debug: off"),
    (".env", "URL=http://a.org", "URL", "http://b.org", "URL=http://b.org"),
    ("a.sh", "export NAME=a  # b", "NAME", "c", "export NAME=c  # b"),
    ("a.sh", "NAME=a", "NAME", "b c", 'NAME="b c"'),
    ("a.properties", "server.port=80", "server.port", "81", "server.port=81"),
    ("Makefile", "RATE ?= 5", "RATE", "6", "RATE ?= 6"),
    ("Makefile", "FLAGS := -O2 -g", "FLAGS", "-O3", "FLAGS := -O3"),
    ("requirements.txt", "requests==2.31.0", "requests", "2.32.0", "requests==2.32.0"),
    ("requirements-dev.txt", "a[b]>=1.0 ; python_version < '3.9'  # c", "a", "1.1", "a[b]>=1.1 ; python_version < '3.9'  # c"),
    ("main.tf", 'region = "a"', "region", "b", 'region = "b"'),
    ("A.java", "int mask = 0x10;", "mask", "5", "int mask = 5;"),
    ("a.yaml", "day: 2026-01-01", "day", "2026-02-01", "day: 2026-02-01"),
    ("a.yaml", "title: It's a shop", "title", "It's mine", "title: It's mine"),
]  # fmt: skip


@rows("path, line, name, value, after", VALUES)
def test_MOD_23_a_value_is_changed_as_it_is_spelled(path: str, line: str, name: str, value: str, after: str) -> None:
    assert edited(f"{line}\n", plan_edit(path, SetValue(name, value), [line])) == f"{after}\n"


NOT_SET = [
    ("a.py", "PATHS = [", "PATHS", "5"),
    ("a.py", "x = y = 0", "x", "5"),
    ("a.py", "x = y = 0", "y", "5"),
    ("a.py", "total = 0; count = 0", "total", "5"),
    ("a.py", "total = 0; count = 0", "count", "5"),
    ("a.py", "a, b = 0, 5", "b", "6"),
    ("a.py", "a = 10 if b else 0", "a", "5"),
    ("a.py", 'a = "Hello " + name', "a", "b"),
    ("a.py", 'a = f"{b}"', "a", "b"),
    ("a.py", "a == 5", "a", "6"),
    ("a.py", "a = 5,", "a", "6"),
    ("a.py", "rate: 5", "rate", "6"),
    ("a.py", '"""Sums.\n\nRATE = 5\n"""', "RATE", "6"),
    ("a.py", '    """Sums.\n\n    rate: The rate to use\n    """', "rate", "6"),
    ("a.py", "a = 'b'", "a", "c\\d"),
    ("a.py", "a = 'b'", "a", '"it\'s" so'),
    ("a.py", "a = 5\na = 6", "a", "7"),
    ("a.py", "a = 5", "a", "len(b)"),
    ("a.py", "f(rate=1)\ng(rate=2)", "rate", "3"),
    ("a.py", "f(\n    a=5\n    + b,\n)", "a", "7"),
    ("a.ts", "interface A {\n  rate: number;\n}", "rate", "5"),
    ("a.ts", "interface A {\n  kind: 'a'\n}", "kind", "b"),
    ("a.js", '"server": {', "server", "5"),
    ("a.js", "/*\nrate = 5;\n*/", "rate", "6"),
    ("a.js", "rate = 5\n  + 6;", "rate", "6"),
    ("A.java", "int rate = 5;", "rate", "high"),
    ("a.c", "char sign = 'a';", "sign", "bc"),
    ("a.json", '  "a": 5, // b', "a", "6"),
    ("a.json", '  "a": "b"', "a", 'c"d'),
    ("a.yaml", "desc: |\n  rate: 5", "desc", "a"),
    ("a.yaml", "desc: |\n  rate: 5", "rate", "6"),
    ("a.yaml", "desc: >-\n  a:\n    rate: 5", "rate", "6"),
    ("a.yaml", "desc: one\n  two", "desc", "a"),
    ("a.yaml", "desc: &a b", "desc", "c"),
    ("a.yaml", "desc: *a", "desc", "c"),
    ("a.yaml", "desc: {a: 5}", "desc", "c"),
    ("a.toml", "a = 5", "a", "None"),
    ("a.toml", 'a = """\nb = 5\n"""', "b", "6"),
    ("a.ini", "a =\n    b\n    c = 5", "c", "6"),
    ("a.ini", "a = b\n    c", "a", "6"),
    ("a.sh", "RATE=5 ./run", "RATE", "6"),
    ("a.sh", "RATE=$(cat rate)", "RATE", "6"),
    ("a.sh", "cat <<END\nRATE=5\nEND", "RATE", "6"),
    ("a.sh", "RATE = 5", "RATE", "6"),
    ("a.sh", "NAME=a", "NAME", "$b"),
    ("Makefile", "all: a", "all", "b"),
    ("Makefile", "\tRATE=5", "RATE", "6"),
    ("requirements.txt", "requests", "requests", "2.32.0"),
    ("requirements.txt", "requests>=2,<3", "requests", "2.32.0"),
    ("README.md", "rate = 5", "rate", "6"),
    ("notes.txt", "rate: 5", "rate", "6"),
    ("a.py", "def f():\n    a = 5,", "a", "6"),
    ("a.json", '  "a": 5', "a", "0x1F"),
    ("a.yaml", "a: 5", "a", "007"),
    ("a.yaml", "a: b", "a", "[b, c]"),
    ("a.yaml", "a: 5,", "a", "6"),
    ("a.conf", "a = b;", "a", "c"),
    ("a.js", "rate = 5 // a\n  + 6;", "rate", "6"),
    ("a.rb", "a = <<~END\n  RATE = 5\nEND", "RATE", "6"),
]


@rows("path, content, name, value", NOT_SET)
def test_MOD_23_what_is_no_plain_value_is_left(path: str, content: str, name: str, value: str) -> None:
    with pytest.raises(NoPlace):
        plan_edit(path, SetValue(name, value), content.split("\n"))


@rows("path", ["a.py", "a.js", "a.yaml", "a.ini", "a.sh", "Makefile"])
def test_MOD_23_a_line_of_any_length_is_left_at_once(path: str) -> None:
    """A line of 50,000 characters used to take half a minute."""
    for line in (f"RATE=5{' ' * 50_000}x", f"RATE: a{' ' * 50_000}x", f"RATE==1{' ' * 50_000}x"):
        with pytest.raises(NoPlace):
            plan_edit(path, SetValue("RATE", "6"), [line])


WITHIN = {
    "py": 'def f():\n    """Sums.\n\n    RATE = 5\n    """\n\n\n',
    "json": "{\n",
    "yaml": "text: |\n  RATE: 5\n",
    "toml": 'text = """\nRATE = 5\n"""\n',
    "ini": "[all]\n",
    "sh": "text='\nRATE=5\n'\n",
}
"""Text at the top of a file of each kind; it sets nothing, though it may look so."""

SETTINGS = st.dictionaries(
    st.sampled_from(["rate", "RATES", "a.b"]),
    st.text(st.sampled_from("ab1 #:;'\"/\\,{}[]|>&*!%=-$\n"), max_size=8) | st.integers() | st.booleans() | st.none(),
    max_size=2,
)
NEW_VALUES = (
    st.text(st.sampled_from("ab1 #:;'\"/\\,{}[]|>&*!%=-.$"), min_size=1, max_size=8)
    | st.sampled_from(
        ["true", "False", "None", "null", "none", "no", "on", ".5", "1e-3", "-3", "007", "1.", "0x1F", "a"]
    )
    | st.from_regex(r"[-+]?[\d.]{1,4}(e[-+]?\d)?", fullmatch=True).filter(str.isascii)
)


def written(kind: str, name: str, value: Any, note: str) -> str:
    """Returns the line, or lines, that set a name in a file of this kind."""
    match kind:
        case "py":
            return f"{name.replace('.', '_')} = {value!r}{note}\n"
        case "json":
            return f"  {json.dumps(name)}: {json.dumps(value)},\n"
        case "yaml":
            return yaml.safe_dump({name: value}, width=1000).removesuffix("\n") + f"{note}\n"
        case "toml":
            return f'"{name}" = {json.dumps("none" if value is None else value)}{note}\n'
        case "ini":
            return f"{name} = {value}{note}\n"
        case _:
            return f"{name.replace('.', '_')}={shlex.quote(str(value))}{note}\n"


def read(kind: str, content: str) -> dict[str, Any]:
    """Returns the names that a file of this kind sets, read by the parser of its format."""
    match kind:
        case "py":
            found = (node for node in ast.parse(content).body if isinstance(node, ast.Assign))
            return {ast.unparse(node.targets[0]): ast.literal_eval(node.value) for node in found}
        case "json":
            return json.loads(content)
        case "yaml":
            return yaml.safe_load(content)
        case "toml":
            return tomllib.loads(content)
        case "ini":
            parser = configparser.RawConfigParser(inline_comment_prefixes=("#", ";"))
            parser.optionxform = str  # type: ignore[method-assign,assignment]
            parser.read_string(content)
            return dict(parser["all"])
        case _:
            return dict(word.split("=", 1) for word in shlex.split(content, comments=True) if "=" in word)


def is_meant(value: str, found: Any) -> bool:
    """Returns whether the value that the file has now is the requested one."""
    if isinstance(found, str):
        return found in {value, value[1:-1]} or (found.lower() in {"true", "false", "yes", "no", "on", "off"})
    if found is None:
        return value.lower() in {"null", "none"}
    if isinstance(found, bool):
        return value.lower() in ({"true", "yes", "on"} if found else {"false", "no", "off"})
    return found == ast.literal_eval(value)


@settings(max_examples=examples(400), deadline=None)
@given(
    st.sampled_from(sorted(WITHIN)), SETTINGS, SETTINGS, st.data(), NEW_VALUES, st.sampled_from(["", "  # 'a' b: c"])
)
def test_MOD_23_that_value_is_changed_and_no_other_or_none(
    kind: str, above: dict[str, Any], below: dict[str, Any], data: st.DataObject, value: str, note: str
) -> None:
    old = data.draw(SETTINGS.map(lambda drawn: [*drawn.values(), 5][0]), label="old")
    others = {**above, **below}
    parts = [(name, others[name]) for name in above] + [("RATE", old)]
    parts += [(name, others[name]) for name in below if name not in above]
    content = WITHIN[kind] + "".join(written(kind, name, each, note) for name, each in parts)
    content = content.removesuffix(",\n") + "\n}\n" if kind == "json" else content
    try:
        before = read(kind, content)
    except (ValueError, SyntaxError, yaml.YAMLError, configparser.Error):
        return
    lines = content.removesuffix("\n").split("\n")
    try:
        made: Any = plan_edit(f"a.{kind}", SetValue("RATE", value), lines)
    except NoPlace:
        return
    at = made["line"] - 1
    assert made["old_text"] == lines[at]
    after = read(kind, "\n".join([*lines[:at], made["new_text"], *lines[at + 1 :], ""]))
    assert is_meant(value, after["RATE"]), (lines[at], made["new_text"])
    assert {**after, "RATE": 0} == {**before, "RATE": 0}


WHOLE = [
    ("a.py", "x = [\n    1,\n]", "x = ["),
    ("a.py", "def f():\n    pass", "def f"),
    ("a.py", 'x = """a\nb"""', "x ="),
    ("a.py", "x = 1 + \\\n    2", "x ="),
    ("a.py", "f(a,\nb)", "f(a"),
    ("a.py", "if a:\n    b = 1\nc = 2", "b = 1"),
    ("a.js", "f(() => {\n});", "f("),
    ("a.yaml", "a: |\n\n  b\nc: 1", "a: |"),
    ("a.yaml", "a: >-\n  b\nc: 1", "a: >-"),
    ("a.yaml", "a:\n  b: 1", "a:"),
    ("a.json", '{\n  "a": 1,\n  "b": {\n    "c": 2\n  }\n}', '"b": {'),
    ("tsconfig.json", '{\n  // all\n  "a": 1,\n  "b": 2\n}', '"b": 2'),
    ("notes.txt", "fruit\n  apple", "fruit"),
    ("a.toml", "[one]\na = 1\n[two]\nb = 2", "[two]"),
    ("a.sh", "if true; then\n  a\nfi", "fi"),
]


@rows("path, content, text", WHOLE)
def test_MOD_23_a_line_that_others_need_is_not_removed_for_its_text(path: str, content: str, text: str) -> None:
    lines = content.split("\n")
    with pytest.raises(NoPlace):
        plan_edit(path, Remove(text), lines)
    at = next(number for number, line in enumerate(lines, 1) if text in line)
    assert plan_edit(path, Remove(at), lines)["line"] in {at, at - 1}


@rows(
    "path, content, text, after",
    [
        ("a.py", "x = 1\ny = 2", "y = 2", "x = 1"),
        ("a.py", "if a:\n    b = 1\n    c = 2", "b = 1", "if a:\n    c = 2"),
        ("a.json", '{\n  "a": 1,\n  "b": 2\n}', '"a"', '{\n  "b": 2\n}'),
        ("a.json", '{\n  "a": 1,\n  "b": 2\n}', '"b"', '{\n  "a": 1\n}'),
        ("a.md", "| a |\n| b |", "| a |", "| b |"),
        ("a.yaml", "a:\n  b: 1\n  c: 2", "c", "a:\n  b: 1"),
    ],
)
def test_MOD_23_a_line_that_stands_alone_is_removed_for_its_text(
    path: str, content: str, text: str, after: str
) -> None:
    assert edited(content, plan_edit(path, Remove(text), content.split("\n"))) == after


NEW_SETTINGS = [
    ("a.json", '{\n  "a": 1\n}', "b", "2", '{\n  "a": 1,\n  "b": 2\n}'),
    ("a.json", '{\n    "a": {\n        "c": 1\n    }\n}', "b", "x", '{\n    "a": {\n        "c": 1\n    },\n    "b": "x"\n}'),
    ("a.json", "{\n}", "b", "true", '{\n  "b": true\n}'),
    ("a.json", '{\n  "a": 1\n}', "b", '"2"', '{\n  "a": 1,\n  "b": "2"\n}'),
    ("a.json", '{"a": 1}', "b", "2", None),
    ("a.json", '[\n  {"a": 1}\n]', "b", "2", None),
    ("a.json", '{\n  "a": {\n    "b": 1\n  }\n}', "b", "2", None),
    ("a.yaml", "a: 1\nc:\n  - 1\n", "b", "on", "a: 1\nc:\n  - 1\nb: true\n"),
    ("a.yaml", "- 1\n", "b", "2", None),
    ("a.yaml", "a: |\n  text\n", "b", "2", "a: |\n  text\nb: 2\n"),
    ("a.yaml", "a: 1\n---\nb: 1\n", "c", "2", None),
    ("a.toml", "a = 1\n", "b", "x y", 'a = 1\nb = "x y"\n'),
    ("a.toml", "[one]\na = 1\n", "b", "2", None),
    ("a.ini", "[one]\na=1\n", "b", "2", "[one]\na=1\nb=2\n"),
    ("a.ini", "[one]\na = 1\n[two]\nc = 1\n", "b", "2", None),
    (".env", "# x\nA=1\n", "B", "2", "# x\nA=1\nB=2\n"),
    (".env", "A=1\n", "A", "2", None),
    (".env", "run this\n", "A", "2", None),
]  # fmt: skip


@rows("path, content, name, value, after", NEW_SETTINGS)
def test_MOD_23_a_new_setting_goes_where_it_can_only_belong(
    path: str, content: str, name: str, value: str, after: str | None
) -> None:
    if after is None:
        with pytest.raises(NoPlace):
            plan_edit(path, AddSetting(name, value), content.rstrip("\n").split("\n"))
    else:
        assert edited(content, plan_edit(path, AddSetting(name, value), content.rstrip("\n").split("\n"))) == after


@settings(max_examples=examples(200), deadline=None)
@given(
    before=st.dictionaries(
        st.from_regex("[a-z]{1,5}", fullmatch=True), st.integers() | st.text(max_size=5), min_size=1
    ),
    name=st.from_regex("[a-z]{1,5}", fullmatch=True),
    value=st.integers(0, 10**6) | st.booleans(),
    ending=st.sampled_from(["json", "yaml"]),
)
def test_MOD_23_a_new_setting_is_added_and_no_other_is_changed(
    before: dict[str, Any], name: str, value: int | bool, ending: str
) -> None:
    content = json.dumps(before, indent=2) if ending == "json" else yaml.safe_dump(before)
    try:
        edit = plan_edit(f"a.{ending}", AddSetting(name, json.dumps(value)), content.rstrip("\n").split("\n"))
    except NoPlace:
        assert name in before or ending == "yaml"
        return
    read = json.loads if ending == "json" else yaml.safe_load
    assert read(edited(content, edit)) == {**before, name: value}


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("import os\n\ndef f():\n    pass\n\nimport late\n", 1),
        ('"""Doc.\n\nfrom here on it is text.\n"""\nimport os\nX = 1\n', 5),
        ("from a import (\n    b,\n)\nuse = 1\n", 3),
        ("import os\n\n# grouped\nimport sys\n\nX = 1\n", 4),
        ('"""Doc."""\n\nX = 1\n', 1),
        ("def f():\n    pass\n\nfrom late import x\n", 0),
    ],
)
def test_MOD_23_an_import_joins_those_at_the_top(text: str, at: int) -> None:
    lines = tuple(text.split("\n"))
    made = edited(text, plan_edit("a.py", Insert("import re", AmongImports()), lines))
    assert made.split("\n") == [*lines[:at], "import re", *lines[at:]]


@rows("place", [AtLine(1), AtLine(1, beside=1), AmongImports()])
def test_MOD_23_nothing_stands_before_what_names_the_interpreter(place: AtLine | AmongImports) -> None:
    lines = ["#!/usr/bin/env python3", "x = 1"]
    made = edited("\n".join(lines), plan_edit("a.py", Insert("import os", place), lines))
    assert made.split("\n") == [lines[0], "import os", lines[1]]


@rows(
    "path, place",
    [
        ("a.json", AtLine(0)),
        ("a.json", AtLine(1)),
        ("a.json", AtLine(4)),
        ("a.json", AmongImports()),
        ("a.json", AtLine(3, beside=2)),
        ("a.py", Beside("f(", after=True)),
        ("a.py", AtLine(2, beside=1)),
    ],
)
def test_MOD_23_where_a_line_would_break_the_file_it_is_not_inserted(
    path: str, place: AtLine | Beside | AmongImports
) -> None:
    with pytest.raises(NoPlace):
        plan_edit(path, Insert("x", place), ["{", '  "a": 1', "}"] if path == "a.json" else ["f(", "    a,", ")"])


def edited(content: str, arguments: Any) -> str:
    path = WorkspacePath("a.txt", Path("/"))
    return edit_content(path, content, EditFileArguments(**arguments), str)[0]


SMALL = {
    "src/cart.py": "class Cart:\n    total = 0\n",
    "notes.txt": "milk\n",
    "a_table.py": "RATE = 2\nROWS = dict(\n    curry=[1],\n)\n",
    "tools.py": "\n\nclass curry:\n    size = 1\n",
}

DONE = [
    ("which files are there?", "completed", "a_table.py, notes.txt, src/cart.py, tools.py"),
    ("find all TODOs", "completed", "`TODO` is nowhere in the files that I may read."),
    ("find 'a (b)' in notes.txt", "completed", "`a (b)` is nowhere in notes.txt."),
    ("find the definition of curry", "completed", "It is defined in tools.py, line 3."),
    ("look up the definition of the function curry()", "completed", "It is defined in tools.py, line 3."),
    ("where is curry defined?", "completed", "It is defined in tools.py, line 3."),
    ("where is RATE defined?", "completed", "It is defined in a_table.py, line 1."),
    ("what is the default rate?", "completed", "```\na_table.py:1: RATE = 2\n```"),
    (
        "what are the rows in a_table.py",
        "completed",
        "a_table.py, line 2:\n\n```py\nROWS = dict(\n    curry=[1],\n)\n```",
    ),
    ("which log level is set?", "declined", QUESTION),
    ("where is size defined?", "completed", "It is defined in tools.py, line 4."),
    ("what is the diff between RATE and curry?", "declined", f"{QUESTION} `RATE` is defined in a_table.py, line 1."),
    ("explain the function curry", "declined", f"{QUESTION} `curry` is defined in tools.py, line 3."),
    ("what does curry do?", "declined", f"{QUESTION} `curry` is defined in tools.py, line 3."),
    ("what does everybody do?", "declined", QUESTION),
    ("explain the function nowhere", "declined", f"{NO_DEFINITION.format(name='nowhere')} {QUESTION[11:]}"),
    ("show me curry", "completed", "tools.py, line 3:\n\n```py\nclass curry:\n    size = 1\n```"),
    ("show me ROWS", "completed", "a_table.py, line 2:\n\n```py\nROWS = dict(\n    curry=[1],\n)\n```"),
    ("show me nowhere", "declined", NO_DEFINITION.format(name="nowhere")),
    ("what is this?", "completed", "a_table.py, notes.txt, src/cart.py, tools.py"),
    ("what can u do", "completed", WHAT),
    ("hey, are you chatgpt?", "completed", WHAT),
    ("show notes.txt", "completed", "```txt\nmilk\n```"),
    ("how many lines has notes.txt", "completed", "notes.txt has 1 line."),
    ("how long is tools.py?", "completed", "tools.py has 4 lines."),
    ("what is the last line of tools.py?", "completed", "```py\n    size = 1\n```"),
    ("show the last 2 lines of tools.py", "completed", "```py\nclass curry:\n    size = 1\n```"),
    ("show the last 9 lines of notes.txt", "completed", "```txt\nmilk\n```"),
    ("search Nowhere in src", "completed", "`Nowhere` is nowhere in src."),
    ("where is the class Cart defined?", "completed", "It is defined in src/cart.py, line 1."),
    ("delete the file", "declined", FILE),
    ('replace "tea" with "bread" in notes.txt', "declined", None),
    ('replace "tea" with "bread"', "declined", "I stopped: tea was not found."),
    ('delete the line "class Cart:" from src/cart.py', "declined", None),
]


@pytest.mark.parametrize(("sentence", "status", "answer"), DONE)
async def test_MOD_23_it_is_answered(tmp_path: Path, sentence: str, status: str, answer: str | None) -> None:
    async with project(tmp_path, SMALL) as bench:
        result = await bench.ask(sentence)
        assert result.status == status
        assert answer is None or result.final_output == answer


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        ("delete the file", "asks"),
        ("add a docstring to curry in tools.py", "asks"),
        ("show notes.txt and commit", "asks"),
        ("make a branch called x", "declined"),
        ("write me a game", "declined"),
    ],
)
async def test_MOD_23_what_is_asked_for_is_told_as_a_question(tmp_path: Path, sentence: str, reason: Declined) -> None:
    async with project(tmp_path, SMALL) as bench:
        result = await bench.ask(sentence)
        assert (result.status, result.reason) == ("declined", SAID_SO[reason])


async def test_MOD_23_a_word_of_any_length_is_declined(tmp_path: Path) -> None:
    """4,000 characters used to take a minute and a half, because the tests for kinds of wishes read the whole word."""
    async with project(tmp_path, SMALL) as bench:
        assert (await bench.ask(f"find {'x' * 50_000}")).status == "declined"


async def test_MOD_23_who_works_in_strict_mode_is_told_that_rules_follow_no_workflow(tmp_path: Path) -> None:
    strict = {"type": "call", "tool": "set_mode", "arguments": {"mode": "strict"}, "intent": "PLAN"}
    async with project(tmp_path, SMALL) as bench:
        result = await bench.ask(strict, "delete notes.txt")
        assert result.status == "denied"
        assert result.final_output is not None
        assert OUTSIDE_WORKFLOW in result.final_output
        assert (bench.workspace / "notes.txt").exists()


async def test_MOD_23_changes_are_made_and_told(tmp_path: Path) -> None:
    async with project(tmp_path, SMALL) as bench:
        for sentence in (
            'create a file hi.txt with the content "hi"',
            "rename hi.txt to ho.txt",
            'append "eggs" at the end of notes.txt',
            "set total to 5 in src/cart.py",
            "rename total to sum",
            "delete ho.txt",
        ):
            assert (await bench.ask(sentence)).status == "completed", sentence
        names = ("notes.txt", "ho.txt", "hi.txt", "src/cart.py")
        found = {name: (bench.workspace / name).read_text() for name in names if (bench.workspace / name).exists()}
        assert found == {"notes.txt": "milk\neggs\n", "src/cart.py": "class Cart:\n    sum = 5\n"}


async def test_MOD_23_what_is_shown_keeps_its_lines_and_its_markup(tmp_path: Path) -> None:
    """Clients draw an answer as Markdown, which would join lines and take `__name__` for bold text."""
    async with project(tmp_path, SMALL) as bench:
        (bench.workspace / "src" / "__init__.py").write_text("")
        (bench.workspace / "page.md").write_text("# Title\n```\ncode\n```\n")
        (bench.workspace / "main.py").write_text('a = 1\nif __name__ == "__main__":\n    b = 2\n')
        shown = [
            (await bench.ask(sentence)).final_output
            for sentence in ("show page.md", "show main.py", "find __name__ in main.py", "list the files")
        ]
    assert shown == [
        "````md\n# Title\n```\ncode\n```\n````",
        '```py\na = 1\nif __name__ == "__main__":\n    b = 2\n```',
        '```\nmain.py:2: if __name__ == "__main__":\n```',
        "`a_table.py`, `main.py`, `notes.txt`, `page.md`, `src/__init__.py`, `src/cart.py`, `tools.py`",
    ]


@pytest.mark.parametrize("sentence", ["rename size to width", "rename size to width in tools.py", "change size to 2"])
async def test_MOD_23_an_attached_file_is_the_file_that_a_sentence_leaves_out(tmp_path: Path, sentence: str) -> None:
    async with project(tmp_path, SMALL) as bench:
        (bench.workspace / "other.py").write_text("size = 1\n")
        place = {"start": {"line": 3, "character": 0}, "end": {"line": 3, "character": 12}}
        selection = {"type": "selection", "path": "tools.py", "range": place, "text": "    size = 1"}
        result = await bench.ask({"type": "text", "text": sentence, "attachments": [selection]})
        assert result.status == "completed", result.final_output
        assert [each.path for each in result.changes] == ["tools.py"]


async def test_MOD_23_why_an_edit_was_not_made_is_a_whole_sentence(tmp_path: Path) -> None:
    """The tool's words are for a model: they name arguments, and announce lines that follow."""
    async with project(tmp_path, SMALL) as bench:
        (bench.workspace / "README.md").write_text("# Our Shop\n\nA small shop.\n\n## Usage\n\nRun `python app.py`.\n")
        result = await bench.ask("replace 'My shop' with 'The shop' in README.md")
    why = "Cannot edit `README.md`: `My shop` does not occur in it; nothing in the file is close to it."
    assert result.final_output == f"{UNCHANGED} {why}"


async def test_MOD_23_only_for_a_file_that_is_missing_the_files_are_offered(tmp_path: Path) -> None:
    async with project(tmp_path, SMALL) as bench:
        file, repository = [
            (await bench.ask(each)).final_output for each in ("show nothing.txt", "show the git status")
        ]
    assert (LIST in str(file), LIST in str(repository)) == (True, False)


async def test_MOD_23_two_wishes_are_done_in_their_order(tmp_path: Path) -> None:
    async with project(tmp_path, SMALL) as bench:
        result = await bench.ask("set total to 5 in src/cart.py and show src/cart.py, then delete notes.txt")
        assert (result.status, result.final_output) == (
            "completed",
            f"{CHANGED}\n\n```py\nclass Cart:\n    total = 5\n```\n\n{DELETED_FILE.format(path='notes.txt')}",
        )
        assert not (bench.workspace / "notes.txt").exists()


ANSWERED = [
    (("rename RATE", "PRICE", "a_table.py"), "a_table.py", "PRICE = 2\n"),
    (
        ("add a docstring to curry in tools.py", "What it costs."),
        "tools.py",
        'class curry:\n    """What it costs."""\n',
    ),
    (("set RATE in a_table.py", "3"), "a_table.py", "RATE = 3\n"),
    (("replace 'milk' in notes.txt", "oat milk"), "notes.txt", "oat milk\n"),
]


@pytest.mark.parametrize(("said", "path", "text"), ANSWERED)
async def test_MOD_23_the_answer_to_a_question_completes_the_wish(
    tmp_path: Path, said: tuple[str, ...], path: str, text: str
) -> None:
    async with project(tmp_path, SMALL) as bench:
        for sentence in said:
            await bench.ask(sentence)
        assert text in (bench.workspace / path).read_text()


async def test_MOD_23_a_new_wish_is_no_answer_to_the_question_before_it(tmp_path: Path) -> None:
    async with project(tmp_path, SMALL) as bench:
        asked = await bench.ask("delete the file")
        shown = await bench.ask("show notes.txt")
        answered = await bench.ask("notes.txt")
        assert [each.status for each in (asked, shown, answered)] == ["declined", "completed", "completed"]
        assert (bench.workspace / "notes.txt").exists()


async def test_MOD_23_what_a_search_left_out_is_told(tmp_path: Path) -> None:
    async with project(tmp_path, SMALL) as bench:
        (bench.workspace / "huge.log").write_text("needle\n" * 400_000)
        result = await bench.ask("search for needle")
        assert "huge.log" in (result.final_output or "")


async def test_MOD_23_an_exact_text_is_replaced_within_words_where_it_is_no_word(tmp_path: Path) -> None:
    async with project(tmp_path, SMALL) as bench:
        result = await bench.ask("replace 'il' with 'al' in notes.txt")
        assert (result.status, (bench.workspace / "notes.txt").read_text()) == ("completed", "malk\n")


async def test_MOD_23_after_what_was_not_done_no_other_wish_is(tmp_path: Path) -> None:
    async with project(tmp_path, SMALL) as bench:
        result = await bench.ask('show notes.txt, delete the line "class Cart:" from src/cart.py and delete notes.txt')
        assert result.status == "declined"
        assert result.final_output is not None
        assert result.final_output.startswith(f"```txt\nmilk\n```\n\n{UNCHANGED}")
        assert result.final_output.endswith(NOT_GONE_ON.format(wish="delete notes.txt"))
        assert (bench.workspace / "notes.txt").exists()


async def test_MOD_23_after_a_command_that_failed_no_other_wish_is_done(tmp_path: Path) -> None:
    async with project(tmp_path, SMALL) as bench:
        result = await bench.ask("run `ls nowhere`, then delete notes.txt")
        assert result.final_output is not None
        assert result.final_output.endswith(NOT_GONE_ON.format(wish="delete notes.txt"))
        assert (bench.workspace / "notes.txt").exists()


async def test_MOD_23_what_a_wish_lacks_is_asked_for_before_any_is_done(tmp_path: Path) -> None:
    async with project(tmp_path, SMALL) as bench:
        result = await bench.ask("delete notes.txt and remove line 2")
        assert (result.status, result.final_output) == (
            "declined",
            ASKED_FOR.format(wish="remove line 2", question=FILE),
        )
        assert (bench.workspace / "notes.txt").exists()


async def test_MOD_23_a_name_is_changed_in_each_file_that_has_it(tmp_path: Path) -> None:
    async with project(tmp_path, SMALL) as bench:
        (bench.workspace / "src" / "tax.py").write_text("from src.cart import Cart\n")
        result = await bench.ask("rename Cart to Basket")
        assert (result.status, result.final_output) == (
            "declined",
            "The text `Cart` is in src/cart.py, src/tax.py. Which file? Name it in the sentence, or say `everywhere`.",
        )
        result = await bench.ask("please rename Cart to Basket everywhere, also in the tests.")
        assert result.status == "completed"
        assert (bench.workspace / "src" / "cart.py").read_text() == "class Basket:\n    total = 0\n"
        assert (bench.workspace / "src" / "tax.py").read_text() == "from src.cart import Basket\n"


async def test_MOD_23_everywhere_is_no_part_of_the_new_text(tmp_path: Path) -> None:
    async with project(tmp_path, SMALL) as bench:
        for name in ("README.md", "a.yaml"):
            (bench.workspace / name).write_text("port: 8085\n")
        assert (await bench.ask("hey, replace 8085 with 8090 everywhere")).status == "completed"
        assert [(bench.workspace / name).read_text() for name in ("README.md", "a.yaml")] == ["port: 8090\n"] * 2


@rows("place", [Beside("opening:", after=True), AtLine(2, beside=1)])
def test_MOD_23_a_line_below_one_that_opens_a_block_belongs_to_it(place: AtLine | Beside) -> None:
    lines = ["opening:", "  monday: 9", "closed: no"]
    made = edited("\n".join(lines), plan_edit("a.yaml", Insert("friday: 13", place), lines))
    assert made.split("\n") == ["opening:", "  friday: 13", "  monday: 9", "closed: no"]


DOCUMENTED = ["def f(a,", "      b):", "    return a", "class C:", "    def g(self):", '        """Does it."""']


@rows("name, at, line", [("f", 3, '    """Adds."""'), ("C", 5, '    """Adds."""')])
def test_MOD_23_a_docstring_stands_below_its_header(name: str, at: int, line: str) -> None:
    made = edited("\n".join(DOCUMENTED), plan_edit("a.py", Document(name, "Adds."), DOCUMENTED))
    assert made.split("\n") == [*DOCUMENTED[: at - 1], line, *DOCUMENTED[at - 1 :]]


@pytest.mark.parametrize("name", ["g", "h"])
def test_MOD_23_what_has_a_docstring_or_is_not_there_gets_none(name: str) -> None:
    with pytest.raises(NoPlace):
        plan_edit("a.py", Document(name, "Adds."), DOCUMENTED)


@rows("path, after", [("a.py", "  # why"), ("a.js", "  // why"), ("a.yaml", "  # why"), ("a.lua", "  -- why")])
def test_MOD_23_a_comment_is_spelled_as_the_file_spells_it(path: str, after: str) -> None:
    lines = ["a:", "  b: 1"]
    made = edited("\n".join(lines), plan_edit(path, Comment("why", Beside("b: 1", after=False)), lines))
    assert made.split("\n") == ["a:", after, "  b: 1"]


async def test_MOD_23_of_files_of_one_name_it_asks_which(tmp_path: Path) -> None:
    async with project(tmp_path, SMALL) as bench:
        (bench.workspace / "docs").mkdir()
        (bench.workspace / "docs" / "cart.py").write_text("")
        result = await bench.ask("show cart.py")
        assert (result.status, result.final_output) == ("declined", "Which file: docs/cart.py or src/cart.py?")
        assert (await bench.ask("show docs/cart.py")).final_output == "docs/cart.py is empty."


@st.composite
def phrases(draw: st.DrawFn) -> tuple[str, str]:
    """Draws an idea and one of its phrases; the table is read only now, so that collecting the tests does not wait for
    it."""
    rows = phrase_table().phrases
    return draw(st.sampled_from([(idea, phrase) for idea in IDEAS for phrase in rows[idea]]))


@settings(max_examples=examples(300), deadline=None)
@given(st.data(), phrases(), st.sampled_from([(), ("notes.txt",), ("src/cart.py",)]))
def test_MOD_23_each_phrase_has_the_parts_that_its_rule_takes(
    data: st.DataObject, phrase: tuple[str, str], files: tuple[str, ...]
) -> None:
    """The quick check that comes first must also name every phrase that matches the whole text."""
    idea, pattern = phrase[0], pattern_of(phrase[1])
    text = data.draw(st.from_regex(re.compile(pattern.pattern.replace("(?-i:", "(?:")), fullmatch=True), label=idea)
    take_phrase(Sentence(text, text, (), files, (), wordings=(text,), spelled=("`a`",) * len(QUOTE_MARKS)))
    if pattern.fullmatch(text) and "\n" not in text:
        assert phrase[1] in likely_phrases(text)[idea]
