"""Rules for the words of a sentence that change no file: help, git, commands, tests, lists, files and searches
(MOD-23). Pure.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import replace

from pydantic import JsonValue

from remit_governance.policy.shell.catalogue.files import packaged
from remit_governance.values import Intent
from remit_server.models.built_in.language.sentences import FOLDER, Sentence, is_name, without_paths, words_left
from remit_server.models.built_in.language.words import IDENTIFIER, filling, saying, says
from remit_server.models.built_in.routes import COMMAND, FILE, TEXT, Help, Missing, Route, Routed

DEFINED = (
    r"""^[^#/"']*\b(def|class|func|function|fn|struct|type|interface|enum|trait|module|const|let|var) NAME\b"""
    r"""|^["']?NAME["']?\s*(:[^=:]*)?=[^=]|^\s+(self\.|this\.)?NAME(:[^=:]*)? = """
)
"""Matches a line that defines NAME, by a keyword or an assignment. A keyword argument in a call is no definition."""
BY_KEYWORD = re.compile(r"^\W*(?:\w+ )*(?:def|class|func|function|fn|struct|type|interface|enum|trait|module)\b")
"""Matches the start of a line that defines a name by a keyword such as `def` or `class`."""
MOST_DEFINITIONS = 50
_KINDS = (
    "class|function|method|constant|klasse|funktion|methode|konstante|classe|fonction|m[ée]thode|constante|clase|"
    "funci[oó]n|m[ée]todo|funzione|costante"
)
_SAID_DEFINED = r"\s+(?:is\s+)?(?:defined|declared|definiert|défini\w*|definid\w+|definit\w)"
_NAMED = re.compile(
    rf"(?:{_KINDS})\s+([A-Za-z_][A-Za-z0-9_]*)(?=[^\w.]*(?:{_SAID_DEFINED}|[?.]|$))"
    r"|where (?:is|are) ([A-Za-z_][A-Za-z0-9_]*) (?:used|called|defined|declared|imported|mentioned)"
    r"|(?:which|what) file (?:defines|declares) (?:the )?(?:class |function |method |constant |variable )?"
    r"([A-Za-z_][A-Za-z0-9_]*)|\bthe word ([A-Za-z_][A-Za-z0-9_]*)",
    re.IGNORECASE,
)
_LOOKED_FOR = re.compile(
    r"(?:search(?: the (?:project|workspace|code))? for|grep(?: for)?|look for|suche? nach|such mal nach|buscar?|"
    r"cerca(?:re)?|chercher?)\s+(?:the (?:word|text)\s+)?([A-Za-z_][A-Za-z0-9_]*)\W*$",
    re.IGNORECASE,
)
_PASSING = re.compile(
    r"\b(?:do|are|did|check)\b.*\b(?:pass|passing|green|work|ok)\b|laufen|passent|pasan|passano|通る|通って",
    re.IGNORECASE,
)
_OF_TWO = re.compile(r"\b(?:between|vs|versus|zwischen|entre|tra|fra)\b", re.IGNORECASE)
"""Words that ask for the difference between two things, which the diff of the working tree does not answer."""
_SOMETHING = re.compile(
    r"\b(?:something|text|etwas|quelque chose|algo|qualcosa|code|workspace|project)\b", re.IGNORECASE
)
_WHICH_FILE = re.compile(
    r"which file|what file|welcher datei|quel fichier|qu[eé] archivo|quale file|どのファイル", re.IGNORECASE
)
_COMMAND = re.compile(r"\b(?:commands?|befehl|commande|comando)\b|コマンド", re.IGNORECASE)
_PROGRAMS = frozenset(
    {
        "bash", "cargo", "cat", "date", "df", "du", "echo", "env", "find", "git", "go", "gradle", "grep", "head",
        "java", "ls", "make", "mkdir", "mvn", "node", "npm", "npx", "pip", "pwd", "pytest", "python", "python3",
        "rustc", "sh", "sleep", "sort", "tail", "touch", "tree", "true", "uname", "uv", "wc", "which", "yarn",
    }
)  # fmt: skip
"""Programs by which a line is known as a command."""
MOST_OTHERS = 3
MOST_BESIDE_TESTS = 2
_TYPED = frozenset({"cargo", "git", "ls", "npm", "npx", "pip", "pytest", "uv", "wc", "yarn"})
"""Programs whose names do not begin an ordinary sentence."""
_TYPED_ALONE = re.compile(
    r"pytest|pwd|uname|make|make (?:all|build|check|clean|install|lint|test)|"
    r"go (?:build|generate|get|mod|run|test|vet)(?: [\w./-]+)*|(?:mvn|gradle) (?:build|clean|compile|package|test)|"
    r"(?:python3?|node|bash|sh|ruby) [\w/-]+\.\w+|mkdir(?: -p)?(?: [\w./-]+)+|touch(?: [\w-]*[./][\w./-]*)+"
)
"""Whole lines that are taken as commands, although their first word could begin an ordinary sentence."""
_ENDINGS: Mapping[str, str] = {
    "python": "*.py",
    "typescript": "*.ts",
    "javascript": "*.js",
    "markdown": "*.md",
    "json": "*.json",
    "yaml": "*.yaml",
    "text": "*.txt",
    "rust": "*.rs",
}


_UNDOES = re.compile(r"\b(?:discard|revert|reset|stash|undo|commit|verwirf|annule|descarta|scarta)\b", re.IGNORECASE)


def take_help(said: Sentence) -> Route:
    """Takes a question about what the built-in model can do."""
    return Help() if says("help", said.text) else None


def take_git(said: Sentence) -> Route:
    """Takes a wish to see git's status or diff."""
    if re.fullmatch(r"(?:please )?(?:run )?[`\"']?git (status|diff)[`\"']?(?: please)?[.!]?", said.text, re.IGNORECASE):
        return Routed(Intent.ANALYZE, "git_status" if "status" in said.text.lower() else "git_diff")
    if said.quoted:
        return None
    if says("deletes", said.bare) or _UNDOES.search(said.bare):
        return None
    if says("diff", said.bare) and not _OF_TWO.search(said.bare):
        return Routed(Intent.ANALYZE, "git_diff", {"paths": list(said.files)} if said.files else {})
    return Routed(Intent.ANALYZE, "git_status") if says("status", said.bare) and not said.files else None


def take_run(said: Sentence) -> Route:
    """Takes a command, a script or the tests."""
    if says("tests", said.bare) and not said.quoted and _PASSING.search(said.bare):
        return _take_tests(said, asks=True)
    if not says("run", said.bare):
        return None
    if (command := _script_in(said) or _command_in(said)) is not None:
        tool = "start_process" if _BEHIND.search(said.short) else "run_command"
        return Routed(Intent.EXECUTE, tool, {"command": _BEHIND.sub("", command)})
    if says("tests", said.bare):
        return _take_tests(said)
    return Missing(COMMAND) if not said.files and words_left(said, "run") == len(_COMMAND.findall(said.bare)) else None


def _take_tests(said: Sentence, *, asks: bool = False) -> Route:
    """Takes a wish to run all tests or those of a file; None if it asks for some tests without naming a file."""
    if not said.files and (_SOME_TESTS.search(said.bare) or _OTHER_TESTS.search(said.bare)):
        return None
    if len(said.files) > 1 or not all(says("tests", re.sub("[_/]", " ", file)) for file in said.files):
        return None
    rest = replace(said, bare=saying("tests").sub(" ", _TELL_ME.sub("", said.bare)))
    if not said.files and _JOINT.search(rest.bare) and words_left(rest, "run", whole=True):
        return None  # the other clause is a wish of its own
    if not said.files and not asks and words_left(rest, "run", whole=True) > MOST_BESIDE_TESTS:
        return None
    path: dict[str, JsonValue] = {"path": said.files[0]} if said.files else {}
    return Routed(Intent.EXECUTE, "run_tests", path)


_JOINT = re.compile(r"\w,? (?:and|then|und|dann|et|puis|y|luego|e|poi) \w", re.IGNORECASE)
_SOME_TESTS = re.compile(
    r"\b(?:only|just|nur|seulement|solo|sólo)\b|"
    r"\btests? (?:for(?! (?:me|us)\b)|of|in|from|about|named|called|with|that|which)\b",
    re.IGNORECASE,
)
"""Words that ask for only some of the tests; without a file, no rule knows which."""
_OTHER_TESTS = re.compile(
    r"\b(?:failing|failed|integration|slow|slower|fast|faster|skipped|flaky|e2e|smoke|writing|run order|langsam|lenti|"
    r"lents?|lentos)\b",
    re.IGNORECASE,
)
_NOTHING_ELSE = re.compile(
    r"^\W*(?:(?:can|could) you |please )*(?:run|execute)(?: me)?(?: the)?(?: script| file| program)?\W*"
    r"(?:(?:and|then) (?:tell|show) me\b.*|for me|please)?\W*$",
    re.IGNORECASE,
)
_RUN_BY: Mapping[str, str] = {"py": "python3", "sh": "sh", "bash": "bash", "js": "node", "mjs": "node", "rb": "ruby"}


def _script_in(said: Sentence) -> str | None:
    """Returns the command that runs the one script that a sentence names, if it asks for nothing else; None for tests,
    which have a tool of their own."""
    program = _RUN_BY.get(said.files[0].rpartition(".")[2]) if len(said.files) == 1 else None
    if program is None or says("tests", said.bare) or not _NOTHING_ELSE.search(without_paths(said)):
        return None
    return f"{program} {shlex.quote(said.files[0])}"


_QUOTES_WITHIN = re.compile(rf"(?<!\S)(?:{'|'.join(sorted(_PROGRAMS))})\s[^\"'`]*[\"']")
"""Matches a command with a quote in it: the quoted text is an argument and not the command itself."""


_SHELL = re.compile(r"^[\w.-]*[/+]|&&|\|| --?\w|[<>]")
"""Matches what only a command line has: a path or a `+` in its first word, an option, a pipe, a redirection."""
_BEHIND = re.compile(
    r",?\s+(?:in|as) (?:the|a) background(?: process)?$|\s+im hintergrund$|\s+en arrière-plan$|\s+en segundo plano$|"
    r"\s+in background$",
    re.IGNORECASE,
)
"""Words that ask for a command to run in the background."""


def _command_in(said: Sentence) -> str | None:
    """Returns the command in a sentence: the quoted text, or what follows a colon or the verb if it looks like a
    command."""
    if said.quoted and not _QUOTES_WITHIN.search(said.text):
        if len(said.quoted) != 1 or says("edits", said.bare) or FOLDER.search(said.bare):
            return None
        rest = replace(said, bare=_TELL_ME.sub("", said.bare))
        return said.quoted[0] if words_left(rest, "run", whole=True) <= _is_command(said.quoted[0]) else None
    if (told := re.match(r"(?:run|execute)[^:]{0,30}:\s*(\S.*)$", said.short, re.IGNORECASE)) is not None:
        return told[1] if _is_command(told[1]) and not _is_prose(told[1]) else None
    found = re.match(
        r"(?:run|execute|start|launch|ejecuta|corre|lance|exécute|esegui|lancia)\s+"
        r"(?:(?:the|el|la|le|il) (?:command|program|comando|commande|programma)\s+)?(\S.*?)"
        r"(?: in (?:the|a) (?:shell|terminal))?(?: for me)?(?:,? and (?:tell|show) me .*)?$",
        said.short,
        re.IGNORECASE,
    )
    command = _with_program(_BEHIND.sub("", found[1].rstrip(".!")), said) if found else ""
    if command and _of_known_program(command):
        return command
    return command if command and _is_command(command) and not _is_prose(command) else None


_ALSO_WORDS = frozenset({"test", "install", "script", "time", "watch", "link", "code", "build", "check", "help", "all"})
"""Programs whose names are as well what one runs in other ways."""
_AROUND = re.compile(
    r"(?<!\S)(?:the|this|that|it|them|me|my|our|for|so|please|and|then|if|when|again|now|with(?! -)|sure|in|of|on|from|"
    r"at|der|die|das|und|les|et|los|por|per|pour)(?!\S)|[,;] ",
    re.IGNORECASE,
)
"""Words of a sentence, which a command line hardly has."""


def _of_known_program(command: str) -> bool:
    """Returns whether what "run" is said of is a line for a program that Remit knows, and no sentence."""
    program, *words = command.split()
    known = program in _PROGRAMS or packaged(program) is not None
    plain = _AROUND.search(" ".join(words)) or MEANS_VERB.search(command) or _OF_WHAT_CAME.search(" ".join(words))
    return known and program not in _ALSO_WORDS and program.islower() and not plain


_WITH_OPTION = re.compile(r" (?:with|mit|avec|con|com) (?=-)")


def _with_program(command: str, said: Sentence) -> str:
    """Returns a command that begins with a script of the project with the program that runs it, because a script need
    not be executable; "with" before an option goes."""
    program = _RUN_BY.get(command.split(maxsplit=1)[0].rpartition(".")[2]) if command.split() else None
    if program is None or command.split(maxsplit=1)[0] not in said.files:
        return command
    return f"{program} {_WITH_OPTION.sub(' ', command)}"


_TELL_ME = re.compile(
    r",? (?:and|then|und|et|y|e) (?:then )?(?:tell|show|give|say|zeig\w*|sag|dis|montre|dime|dimmi)\b.*", re.IGNORECASE
)
_OF_WHAT_CAME = re.compile(
    r"\b(?:fails|failed|failing|shows|gives|crash\w*|hangs?|does|doesn't|is|are|was|were|takes|says|prints|returns|"
    r"nothing|broken|works|worked|took|needs|hung|schlägt|zeigt|échoue|falla|fallisce)\b",
    re.IGNORECASE,
)


MEANS_VERB = re.compile(r"\b(?:\w+er|work|pass|configurable|optional|async|sure|sense)$", re.IGNORECASE)
"""Words after "make" that show that the verb is meant, not the program: "make faster", "make it work"."""


def _is_prose(line: str) -> bool:
    """Returns whether a line that begins with a program's name goes on as an ordinary sentence."""
    program, *words = line.split()
    if program == "echo":
        return False
    if program == "make" and MEANS_VERB.search(line):
        return True
    told = any(word.lower() in filling() - {"-"} for word in words if word.isalpha()) and not _SHELL.search(line)
    return told or _OF_WHAT_CAME.search(" ".join(words)) is not None


def _is_command(text: str) -> bool:
    return text.split(maxsplit=1)[0] in _PROGRAMS or _SHELL.search(text) is not None


_COMMIT_OPTIONS = frozenset({"-a", "-m", "-am", "--all", "--message"})


def _commit_in(line: str) -> Route:
    """Returns the call for `git commit -am "…"`: a command could not write `.git`, and the tool for commits can."""
    try:
        program, verb, *words = shlex.split(line)
    except ValueError:
        return None
    if (program, verb) != ("git", "commit"):
        return None
    options, texts = [word for word in words if word.startswith("-")], [word for word in words if word[:1] != "-"]
    known = bool(options) and set(options) <= _COMMIT_OPTIONS and len(texts) == 1 and words[-1:] == texts
    return Routed(Intent.EXECUTE, "git_commit", {"message": texts[0]}) if known else None


def take_shell(said: Sentence) -> Route:
    """Takes a line as one types it into a shell: a program and its options."""
    words = said.text.split()
    if said.text.startswith("git commit ") and (commit := _commit_in(said.text)) is not None:
        return commit
    if words[0] not in _PROGRAMS or any(word.lower() in filling() - {"-"} for word in words[1:] if word.isalpha()):
        return None
    if _is_prose(said.text):
        return None
    typed = any(word.startswith("-") for word in words[1:]) or (words[0] in _TYPED and len(words) > 1)
    typed = typed or _TYPED_ALONE.fullmatch(said.text) is not None
    return Routed(Intent.EXECUTE, "run_command", {"command": said.text}) if typed else None


def take_list(said: Sentence) -> Route:
    """Takes a wish to list the files of a folder."""
    if re.fullmatch(r"(?:please )?(?:ls|dir)[.!]?", said.text, re.IGNORECASE):
        return Routed(Intent.ANALYZE, "list_files", {"pattern": "*"})
    asks = says("files", said.bare) or FOLDER.search(said.bare) is not None
    if said.files or said.quoted or not (asks and says("lists", said.bare)) or says("edits", said.bare):
        return None
    if (related := _RELATED.search(said.short)) is not None:
        return _uses_of(related["words"])
    if _others(said) > MOST_OTHERS:
        return None
    lower = said.bare.lower()
    pattern = next((glob for word, glob in _ENDINGS.items() if word in lower), "*")
    folder = next((path.rstrip("/") for path in said.paths if path.endswith("/")), None)
    if folder is None and (
        named := re.search(
            r"(?:in|under|inside|from|dans|en|nella|im|unter)\s+(?:the\s+|den\s+|dem\s+|le\s+|la\s+)?([\w/-]+)(?:\s+(?:folder|directory|ordner|verzeichnis|dossier))",
            lower,
        )
    ):
        folder = named[1]
    return Routed(Intent.ANALYZE, "list_files", {"pattern": pattern, **({"path": folder} if folder else {})})


_RELATED = re.compile(
    r"\b(?:import(?:s|ed|ier\w*|e[nr]?t?|an)?|us(?:es?|ing|ed|an?|ano)|utilis\w*|utilizz?\w*|(?:be)?nutz\w*|verwend\w*|"
    r"mention(?:s|ed|n\w*)?|erw[äa]hn\w*|mencion\w*|menzion\w*|contain\w*|enth[äa]lt\w*|contien\w*|conteng\w*|"
    r"call(?:s|ed)?|ruf\w*|appell\w*|llam\w*|chiam\w*|references?|refer(?:s|red)? to|depend(?:s|ed)? on|needs?|"
    r"require[sd]?) (?P<words>\S.*)",
    re.IGNORECASE,
)
"""A verb that tells what the files have to do with a word: the files are those in which the word is found."""


def _uses_of(words: str) -> Route:
    if re.fullmatch(r"[\w.]*\w", words) is None:
        return None
    return Routed(Intent.ANALYZE, "search_files", {"pattern": rf"\b{re.escape(words)}\b", "context_lines": 0})


def _others(said: Sentence) -> int:
    """Counts the words that are not about files; with more than a few, the sentence does not ask for files."""
    left = saying("files").sub(" ", saying("lists").sub(" ", without_paths(said)))
    known = filling() | _ENDINGS.keys() | {word for folder in said.folders for word in folder.split("/")}
    return len([word for word in re.findall(r"[A-Za-zÀ-ž]{2,}", left) if word.lower() not in known])


def take_show(said: Sentence) -> Route:
    """Takes a wish to see the content of one file."""
    if not says("shows", said.bare) or said.quoted or says("edits", said.bare):
        return None
    if len(said.files) == 1 and words_left(said, "shows") == 0:
        return Routed(Intent.ANALYZE, "read_file", {"path": said.files[0]})
    return (
        Missing(FILE)
        if not said.files
        and not said.paths
        and words_left(said, "shows") == 0
        and re.search(r"file|datei|fichier|archivo", said.bare)
        else None
    )


def take_search(said: Sentence) -> Route:
    """Takes a wish to search for a text or a name."""
    asks = says("searches", said.bare) or (says("defined", said.bare) and _WHICH_FILE.search(said.bare))
    if not asks or says("edits", said.bare) or len(said.quoted) > 1:
        return None
    defined = says("defined", said.bare)
    where: dict[str, JsonValue] = {"path": said.files[0]} if len(said.files) == 1 else {}
    words = list(said.quoted) or _names_in(said)
    if len(words) == 1:
        if defined and re.fullmatch(IDENTIFIER, words[0]):
            return definition_of(words[0])
        return Routed(Intent.ANALYZE, "search_files", {"pattern": re.escape(words[0]), "context_lines": 0, **where})
    if not words and re.search(r"\bfiles?\b|dateien|fichiers|archivos|ファイル", said.bare, re.IGNORECASE):
        return None
    return (
        Missing(TEXT)
        if not words and words_left(said, "searches") <= len(_SOMETHING.findall(said.bare)) and not said.files
        else None
    )


def _names_in(said: Sentence) -> list[str]:
    """Returns the words that look like names in code, or else the one word in a place where a name is expected."""
    words = [word for word in re.findall(r"[A-Za-z_][A-Za-z0-9_.]*", without_paths(said)) if is_name(word)]
    named = _NAMED.search(said.bare) or _LOOKED_FOR.search(said.bare)
    return words or ([next(filter(None, named.groups()))] if named else [])


def definition_of(name: str, path: str | None = None) -> Routed:
    """Returns the search for the definition of a name, in one file if `path` is given."""
    whole: dict[str, JsonValue] = {"context_lines": 0, "max_results": MOST_DEFINITIONS}
    whole |= {} if path is None else {"path": path}
    return Routed(Intent.ANALYZE, "search_files", {"pattern": DEFINED.replace("NAME", name), **whole})
