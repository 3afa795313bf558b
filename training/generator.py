"""Generates whole conversations of every skill in the embedded model's prompt format."""

from __future__ import annotations

import random
from dataclasses import dataclass

from remit_server.models.embedded.closing_text import DECLINED, RENAMED, UNCHANGED
from remit_server.models.embedded.requests import FUNCTION_WORDS
from training import identifiers, requests, results, sources
from training.conversations import Conversation, Step, called
from training.skills import REFUSED_SHARE, SKILLS
from training.words import Vocabulary
from training.world import TRAINED, UNSEEN, World

MIX: dict[str, int] = {
    "rename": 14, "replace": 16, "delete": 5, "after": 13, "before": 13, "import": 8, "constant": 11, "docstring": 12,
    "which": 7, "run": 6, "other": 12,
}  # fmt: skip
"""Shares of the skills in training."""


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be renamed, where, and what the file holds."""

    old: str
    new: str
    path: str
    content: str


def conversation(
    rng: random.Random, *, held_out: bool = False, max_lines: int = 40, skill: str | None = None
) -> Conversation:
    """Generate one conversation, of `skill` if given; `held_out` draws all from what training never sees."""
    world = UNSEEN if held_out else TRAINED
    skill = skill or rng.choices(list(MIX), list(MIX.values()))[0]
    if skill == "other":
        return other(rng, world)
    if skill == "rename":
        return rename(rng, world, max_lines)
    return SKILLS[skill](rng, world)


def other(rng: random.Random, world: World) -> Conversation:
    """A request that the model turns down at once."""
    old, new = (identifiers.identifier(rng, world.vocabulary) for _ in range(2))
    path, words = world.path(rng, world.extension(rng, "any")), sources.prose(rng, world.vocabulary)
    request = requests.other_request(rng, old, new, path, words, held_out=world.held_out)
    return Conversation("other", request, (Step(DECLINED),))


def rename(rng: random.Random, world: World, max_lines: int) -> Conversation:
    """Rename a name in a file that holds it, or does not."""
    absent = rng.random() < 0.08
    old, content, extension = _file(rng, world, absent, max_lines)
    path = world.path(rng, extension)
    if rng.random() < 0.05:
        path = path.replace(".", f"/{old}.", 1)
    near = rng.random() < 0.4
    new = identifiers.derived(rng, old, world.vocabulary) if near else identifiers.identifier(rng, world.vocabulary)
    new = new if new != old else new + "_new"
    return from_task(rng, Task(old, new, path, content), world, absent=absent)


def from_task(rng: random.Random, task: Task, world: World, *, absent: bool = False) -> Conversation:
    """Lay out the steps of one rename: it is read, edited, and said; a refused call ends it."""
    request = requests.rename_request(rng, task.old, task.new, task.path, held_out=world.held_out)
    shown = task.path.removeprefix("./")
    total = rng.randint(200, 4000) if rng.random() < 0.04 else None
    if rng.random() < REFUSED_SHARE:
        error = results.error(rng, world.vocabulary, "read_file", task.path)
        return Conversation("refused", request, (_read(task.path, error), Step(UNCHANGED)))
    read = _read(task.path, results.read(shown, task.content.split("\n"), 1, total))
    if absent or rng.random() < REFUSED_SHARE:
        edit = _replace_all(task, results.error(rng, world.vocabulary, "edit_file", task.path))
        return Conversation("refused", request, (read, edit, Step(UNCHANGED)))
    edit = _replace_all(task, results.edited(shown, rng.randint(1, 12)))
    return Conversation("rename", request, (read, edit, Step(RENAMED)))


def _read(path: str, result: str) -> Step:
    return called("READ_FILE", "read_file", {"path": path}, result)


def _replace_all(task: Task, result: str) -> Step:
    arguments: dict[str, object] = {
        "path": task.path, "old_text": task.old, "new_text": task.new, "replace_all": True, "whole_word": True,
    }  # fmt: skip
    return called("CODE", "edit_file", arguments, result)


def _file(rng: random.Random, world: World, absent: bool, max_lines: int) -> tuple[str, str, str]:
    """Draw (identifier, content, extension): the identifier occurs in the content, or not at all when `absent`."""
    lines = min(max_lines, 3 + int(rng.expovariate(1 / 9)))
    if rng.random() < 0.45 and not world.held_out:
        content, extension = sources.excerpt(rng, sources.training_sources(), lines), "py"
        names = identifiers.IDENTIFIER.findall(content)
        found = [name for name in names if len(name) > 1 and name.lower() not in FUNCTION_WORDS]
        old = rng.choice(found) if found else identifiers.identifier(rng, world.vocabulary)
    else:
        old, content = _templated(rng, world, lines)
        extension = world.extension(rng, "any")
    if absent:
        near = rng.random() < 0.35
        vocabulary = world.vocabulary
        old = identifiers.derived(rng, old, vocabulary) if near else identifiers.identifier(rng, vocabulary)
        while identifiers.occurs(old, content):
            old += rng.choice("xyz")
    elif not identifiers.occurs(old, content):
        content = f"{old}\n{content}"
    return old, content, extension


def _templated(rng: random.Random, world: World, lines: int) -> tuple[str, str]:
    language = rng.choice(tuple(sources.LANGUAGES.values()))
    templates, vocabulary = sources.templates(world.split, language), world.vocabulary
    old = identifiers.identifier(rng, vocabulary)
    pool = _pool(rng, old, vocabulary)
    share = rng.choice((0.03, 0.08, 0.15))

    def name() -> str:
        return old if rng.random() < share else rng.choice(pool)

    content = sources.templated(rng, templates, name, vocabulary, lines).split("\n")
    if rng.random() < 0.04:
        asked = requests.rename_request(
            rng, rng.choice(pool), rng.choice(pool), "src/other.py", held_out=world.held_out
        )
        content.insert(rng.randint(0, len(content)), f"# {asked}")
    if not identifiers.occurs(old, "\n".join(content)):
        line = rng.choice(("{0} = 1", "  {0}({1})", '"{0}": {1}', "  # {1} {0}")).format(old, pool[-1])
        content.insert(rng.randint(0, len(content)), line)
    return old, "\n".join(content)


def _pool(rng: random.Random, old: str, vocabulary: Vocabulary) -> list[str]:
    siblings = [identifiers.derived(rng, old, vocabulary) for _ in range(rng.choice((0, 0, 1, 2)))]
    return siblings + [identifiers.identifier(rng, vocabulary) for _ in range(rng.randint(2, 9))]
