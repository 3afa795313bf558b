"""Walks the tree of a command line and finds every simple command in it, at any depth (CMD-01; CMD-06)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from remit_governance.policy.shell.effects.judging import effect_of
from remit_governance.policy.shell.expansion import unclear
from remit_governance.policy.shell.here import without_here_documents
from remit_governance.policy.shell.nodes import (
    RESERVED,
    TAKE_NUMBERS,
    assigned_names,
    chosen,
    feeds,
    harmless_there,
    harmless_variable,
    is_certain,
    is_plain_test,
    is_shell,
    strange,
    test_operands,
)
from remit_governance.policy.shell.programs import examine, is_known_place
from remit_governance.policy.shell.reading import COMMAND_STEPS, MOST_FOLDERS, STREAMS, UNKNOWN, Draft, Reading
from remit_governance.policy.shell.words import Word, resolve, spelled, to_parse
from remit_governance.policy.shell.wrappers import Layers, unwrap
from remit_governance.secrets.cutting import shorten

MOST_CHARACTERS = 8_000
MOST_PARSED = 4_000
"""The most characters without here-documents. The parser takes time that grows by the square of the text that it cannot
read."""
MOST_DEPTH = 40
MOST_VALUES = 8
"""The most values of a loop's variable for which the loop's body is read once each; done for two nested loops at
most."""

# Characters that a terminal or an editor does not show as they are, or that split lines or words invisibly.
_HIDDEN = re.compile(r"[^\S \n\t]|[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
_JOINED_LINE = re.compile(r"\S\\\n\S")
_ODD_START = re.compile(r"(?<![\w./-])\\[ \t]|^[ \t]*\\\n", re.MULTILINE)
_DESCRIPTOR = re.compile(r"\{\w+(\[.*\])?\}", re.DOTALL)
_FOLLOWED = frozenset(
    {
        *("program", "list", "pipeline", "compound_statement", "negated_command", "do_group", "else_clause"),
        *("if_statement", "elif_clause", "while_statement", "for_statement", "case_statement", "case_item"),
    }
)
"""Nodes whose children are statements that may run."""
_VALUES = frozenset({"for_statement", "case_statement", "case_item"})
"""Nodes that also hold words, besides the statements that they run."""


@lru_cache(maxsize=512)
def read_script(script: str) -> Reading:
    """Returns everything that a shell would run of `script`, and every reason why that is not certain. Never raises."""
    draft = Draft()
    _read_into(script, draft, 0)
    return draft.done()


def _read_into(script: str, draft: Draft, depth: int) -> None:
    if not draft.spend(len(script) // 40):
        return
    if len(script) > MOST_CHARACTERS:
        draft.doubt(f"it is longer than {MOST_CHARACTERS} characters")
        return
    if _HIDDEN.search(script) or "\ud800" <= max(script, default="") <= "\udfff":
        draft.doubt("it contains characters that are not visible")
        return
    plain = without_here_documents(script)
    if plain is None:
        draft.doubt("a here-document, or what stands beside it, is not plain")
        plain = script
    if len(plain) > MOST_PARSED:
        draft.doubt(f"it is longer than {MOST_PARSED} characters besides its here-documents")
        return
    if _JOINED_LINE.search(plain):
        draft.doubt("a word continues over the end of a line")
    if _ODD_START.search(plain):
        draft.doubt("a line or a word begins with a backslash and a blank")
    root = parsed(plain)
    if root.has_error:
        draft.doubt("it is not a well-formed command line")
    before = draft.values, draft.constants, draft.assigned
    draft.values, draft.constants, draft.assigned = {}, {}, Counter(assigned_names(root))
    _walk(root, draft, depth)
    draft.values, draft.constants, draft.assigned = before
    if any(argv[0] == "read" and not draft.looped.isdisjoint(argv[1:]) for argv in draft.commands):
        draft.doubt("a loop's variable gets another value while it runs")


def parsed(plain: str) -> Node:
    """Returns the tree of a script without here-documents. A part that is not well-formed becomes an `ERROR` node."""
    return _parser().parse(to_parse(plain)).root_node


@lru_cache(maxsize=1)
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


def _walk(node: Node, draft: Draft, depth: int) -> None:
    """Reads one statement. A node of any other kind adds a doubt, and its children are read."""
    if depth > MOST_DEPTH:
        draft.doubt("it is nested too deeply")
        return
    if not draft.spend(1):
        return
    kind = node.type
    if node.is_missing or kind == "ERROR":
        draft.doubt("it is not a well-formed command line")
    if kind == "subshell":
        _apart(node, draft, depth)
    elif kind in _FOLLOWED:
        _children(node, draft, depth)
    elif kind == "redirected_statement":
        _redirected(node, draft, depth)
    elif kind == "command":
        _command(node, draft, depth)
    elif kind == "test_command":
        _test(node, draft, depth)
    elif kind in {"variable_assignment", "variable_assignments"}:
        _assignments(node, draft, depth)
    elif kind == "declaration_command":
        _declaration(node, draft, depth)
    elif kind != "comment":
        draft.doubt(strange(node))
        _children(node, draft, depth)


def _children(node: Node, draft: Draft, depth: int) -> None:
    if spelled(node).startswith("(("):
        draft.doubt("arithmetic means different things to different shells")
    if node.type == "compound_statement" and not node.named_children:
        draft.doubt("`{}` is a program's name here, and a group in other shells")
    if any(child.type == "|&" for child in node.children):
        draft.doubt("`|&` means different things to different shells")
    values = node.children_by_field_name("value") if node.type in _VALUES else []
    variables = node.children_by_field_name("variable") if node.type in _VALUES else []
    known = [_known(value, draft, depth + 1, loose=True) for value in values]
    names = {each.id for each in (*values, *variables)}
    inner = [child for child in node.named_children if child.id not in names]
    if node.type == "for_statement":
        if node.children[0].type != "for":
            draft.doubt("`select` means different things to different shells")
        _loop([spelled(variable) for variable in variables], known, inner, draft, depth)
        return
    _body(inner, draft, depth, again=node.type == "while_statement")


def _loop(names: list[str], known: list[Word | None], inner: list[Node], draft: Draft, depth: int) -> None:
    """Reads a loop over words. If all words are known and nothing else sets the variable, its body is read once for
    each word; else it is read with the variable unknown."""
    before = draft.values
    rounds: list[dict[str, Word]] = [{key: word for key, word in before.items() if key not in names}]
    words = [word for word in known if word is not None and not (word.vague or word.counted or word.choices)]
    once = len(names) == 1 and draft.assigned[names[0]] == 1
    if once and len(words) == len(known) and 0 < len(words) <= MOST_VALUES and len(before) < 2:
        rounds = [{**before, names[0]: word} for word in words]
        draft.looped.add(names[0])
    for name in names:
        _set(name, draft)
    for values in rounds:
        draft.values = values
        _body(inner, draft, depth, again=len(rounds) == 1)
    draft.values = before


def _body(inner: list[Node], draft: Draft, depth: int, *, again: bool) -> None:
    """Reads what a statement runs. With `again` it may run any number of times, and each round may begin in a folder to
    which the last one changed, so that the body is read until no new folder is found."""
    for _ in range(MOST_FOLDERS + 1 if again else 1):
        before = draft.folders
        for child in inner:
            _walk(child, draft, depth + 1)
        if draft.folders == before:
            break


def _apart(node: Node, draft: Draft, depth: int) -> None:
    """Reads a subshell, whose changes of folder do not apply to the rest of the line."""
    before = draft.folders
    _children(node, draft, depth)
    draft.folders = before


def _redirected(node: Node, draft: Draft, depth: int) -> None:
    body = node.child_by_field_name("body")
    redirects = [child for child in node.named_children if body is None or child.id != body.id]
    if body is not None and body.type != "command":
        # Read the body first, because a `cd` in it decides in which folder the files are.
        _walk(body, draft, depth + 1)
    late = [word for child in redirects for word in _redirect(child, draft, depth)]
    if late and any(each.type in {"&>", "&>>"} for child in redirects for each in child.children):
        draft.doubt("there are words after `&>`")
    if body is not None and body.type == "command":
        _command(body, draft, depth + 1, late)
    elif late:
        draft.doubt("there are words after a redirection")
    if body is not None and is_shell(body) and any(map(feeds, redirects)):
        draft.doubt("a shell gets commands as input")


def _redirect(node: Node, draft: Draft, depth: int) -> list[Node]:
    """Reads a redirection. Returns the words after its target, which belong to the command."""
    match node.type:
        case "file_redirect":
            return _file_redirect(node, draft, depth)
        case "heredoc_redirect":
            return _here_document(node, draft, depth)
        case _:
            # A here-string. A shell that does not know them stops here with an error.
            for child in node.named_children:
                _known(child, draft, depth, loose=True)
            return []


def _here_document(node: Node, draft: Draft, depth: int) -> list[Node]:
    """Reads a here-document, whose node holds the rest of the line: redirections, further words of the command, which
    are returned, and the commands that it is piped into."""
    late: list[Node] = []
    for child in node.named_children:
        if child.type == "file_redirect":
            late += _file_redirect(child, draft, depth)
        elif child.type == "heredoc_body":
            _inside(child, draft, depth)
        elif child.type in {"word", "string", "raw_string", "number", "concatenation"}:
            late.append(child)
        elif child.type not in {"heredoc_start", "heredoc_end", "file_descriptor"}:
            _walk(child, draft, depth + 1)
    return late


def _file_redirect(node: Node, draft: Draft, depth: int) -> list[Node]:
    operator = next((child.type for child in node.children if not child.is_named), "")
    if any(child.type == "ERROR" for child in node.children):
        operator = "<>"  # the one redirection that the grammar does not know
    descriptor = node.child_by_field_name("descriptor")
    if descriptor is not None and len(spelled(descriptor)) > 1:
        draft.doubt("a descriptor of two digits means different things to different shells")
    targets = node.children_by_field_name("destination")
    word = _known(targets[0], draft, depth) if targets else None
    if word is None or (operator in {">&", "<&"} and (word.text.isdigit() or word.text == "-")):
        return targets[1:]
    if word.counted:
        draft.doubt("the name of a file has a number that is known only when it runs")
    if operator in {">&", "<&"} or (operator in {"&>", "&>>"} and len(targets) > 1):
        draft.doubt(f"`{operator}` means different things to different shells")
    if word.pattern:
        draft.doubt("the name of a file is a pattern")
    if word.text not in STREAMS:
        if operator not in {"<", "<&"}:
            draft.writes.extend(draft.places(word.text))
        if operator in {"<", "<&", "<>"}:
            draft.reads.extend(draft.places(word.text))
    return targets[1:]


def _known(node: Node, draft: Draft, depth: int, *, loose: bool = False) -> Word | None:
    """Returns the word at `node`, or adds a doubt and returns None. The commands inside the word are read either way.

    With `loose`, a word that is known only when it runs is returned without a doubt, because it is harmless here or is
    checked later.
    """
    word = resolve(node, {**draft.constants, **draft.values})
    _inside(node, draft, depth + 1)
    if word.choices and not loose:
        draft.doubt(f"`{shorten(word.text, 40)}` means different things to different shells")
    why = word.doubt or (word.why if word.vague and not loose else "")
    if why:
        draft.doubt(why)
        return None
    return word


def _inside(node: Node, draft: Draft, depth: int) -> None:
    """Reads the commands inside a word."""
    if depth > MOST_DEPTH:
        draft.doubt("it is nested too deeply")
    elif node.type in {"command_substitution", "process_substitution"}:
        if draft.spend(1):
            _substituted(node, draft, depth)
    else:
        for child in node.named_children:
            _inside(child, draft, depth + 1)


def _substituted(node: Node, draft: Draft, depth: int) -> None:
    """Reads a command whose output is used. It counts like any other, and is a doubt unless all that it does is
    reading."""
    inner = draft.beside()
    _children(node, inner, depth)
    reads = all(is_known_place(argv[0]) and effect_of(argv) == "reads" for argv in inner.commands)
    if not (reads and inner.commands) or inner.writes or spelled(node).startswith(">"):
        draft.doubt(strange(node))
    draft.add(inner)


def _command(node: Node, draft: Draft, depth: int, late: Sequence[Node] = ()) -> None:
    """Reads a simple command; `late` are words of it that stand after its redirections."""
    behind = [*late]
    words: list[Word] = []
    for child in node.children:
        if child.type == "variable_assignment":
            _assignment(child, draft, depth)
        elif child.type == "herestring_redirect" and is_shell(node):
            draft.doubt("a shell gets commands as input")
            _redirect(child, draft, depth)
        elif child.type in {"file_redirect", "heredoc_redirect", "herestring_redirect"}:
            if any(each.type in {"&>", "&>>"} for each in child.children):
                draft.doubt("there are words after `&>`")
            behind += _redirect(child, draft, depth)
        else:
            words.append(_argument(child, draft, depth))
    words += [_argument(child, draft, depth) for child in behind]
    name = node.child_by_field_name("name")
    while words and name is not None and spelled(name) in RESERVED:
        # The grammar reads a loop or a group after `!` as a program called, for example, `while`.
        draft.doubt(f"`{spelled(name)}` begins something that Remit cannot read")
        words, name = words[1:], name.next_named_sibling
    if not words:
        return
    computed = name is not None and "$" in spelled(name)
    if words[0].text == UNKNOWN or words[0].vague or words[0].choices or computed:
        draft.doubt("a program's name is computed")
        return
    _simple([replace(word, choices=()) for word in words], draft, depth)
    if any(word.choices for word in words):
        _simple([each for word in words for each in chosen(word)], draft, depth)


def _argument(node: Node, draft: Draft, depth: int) -> Word:
    before = node.prev_sibling
    if before is not None and before.end_byte == node.start_byte:
        draft.doubt("where a word ends and the next begins is not certain")
    if _DESCRIPTOR.fullmatch(spelled(node)):
        draft.doubt("a name in braces may belong to a redirection, and then is not a word")
    return _known(node, draft, depth, loose=True) or Word(UNKNOWN)


def _simple(words: list[Word], draft: Draft, depth: int) -> None:
    """Reads a simple command: removes its wrappers, and examines what its arguments make it do."""
    if not draft.spend(COMMAND_STEPS + len(words)):
        return
    if words[0].pattern:
        draft.doubt("a program's name is a pattern")
    if any(word.counted for word in words) and (words[0].counted or words[0].text not in TAKE_NUMBERS):
        draft.doubt("a number is known only when it runs, or is not a number")
    layers = unwrap(words)
    if not draft.spend(sum(map(len, (*layers.wrappers, *layers.suspects))) // 50):
        return
    draft.wrappers.extend(layers.wrappers)
    draft.suspects.extend(layers.suspects)
    for text in layers.texts:
        inside = Draft(budget=draft.budget)
        _read_into(text, inside, depth + 1)
        draft.suspects.extend((*inside.commands, *inside.wrappers, *inside.suspects))
    draft.spend(0)  # adds the doubt to this line if a text inside it has used up the budget
    for doubt in (*layers.doubts, *unclear(words, layers)):
        draft.doubt(doubt)
    for script in layers.scripts:
        _read_into(script, draft, depth + 1)
    for inner in layers.commands:
        argv = tuple(word.text for word in inner)
        draft.replaced |= {word.text for word in inner if word.pattern or word.vague or word.doubt or word.split}
        draft.run(argv)
        draft.go(argv)
        effects = examine(inner)
        for path in effects.writes:
            draft.write(path)
        for doubt in effects.doubts:
            draft.doubt(doubt)


def _test(node: Node, draft: Draft, depth: int) -> None:
    if spelled(node).startswith("[["):
        if not is_plain_test(spelled(node)):
            draft.doubt("`[[` means different things to different shells")
        for child in node.named_children:
            _inside(child, draft, depth + 1)
        return
    # `[` is the program `test`, for which the grammar has nodes of its own.
    words = [Word("["), *(_argument(leaf, draft, depth) for leaf in test_operands(node))]
    for doubt in (*examine(words).doubts, *unclear(words, Layers(commands=[tuple(words)]))):
        draft.doubt(doubt)


def _assignments(node: Node, draft: Draft, depth: int) -> None:
    for child in [node] if node.type == "variable_assignment" else node.named_children:
        _assignment(child, draft, depth)


def _assignment(node: Node, draft: Draft, depth: int) -> None:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    word = _known(value, draft, depth, loose=True) if value is not None else Word()
    named = spelled(name) if name else "?"
    if any(child.type == "+=" for child in node.children):
        draft.doubt("`+=` means different things to different shells")
    if word is not None:
        draft.keep(named, word, certain=is_certain(node))
    if word is not None and not word.vague and harmless_there(node, named, word.text):
        return
    _set(named, draft)


def _set(name: str, draft: Draft) -> None:
    """Notes that a variable gets a value, from an assignment, a loop or a word of `export`."""
    if not harmless_variable(name):
        draft.doubt(f"`{shorten(name, 40)}` can change what a program does")


def _declaration(node: Node, draft: Draft, depth: int) -> None:
    keyword = node.children[0].type
    if keyword != "export":
        draft.doubt(f"`{keyword}` means different things to different shells")
    draft.run((keyword, *map(spelled, node.named_children)))
    for child in node.named_children:
        if child.type == "variable_assignment":
            _assignment(child, draft, depth)
        elif child.type != "variable_name" and (word := _known(child, draft, depth)):
            # The grammar reads a quoted `"A=b"` as a plain word, but a shell reads it as an assignment.
            name, assigns, _ = word.text.partition("=")
            before = child.prev_sibling
            if before is not None and before.end_byte == child.start_byte:
                _set("?", draft)
            elif assigns:
                _set(name, draft)
