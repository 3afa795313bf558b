"""`remit skill list`: lists the skills that a model can read here, and those that cannot be used (TOOL-19)."""

from __future__ import annotations

import argparse

from remit_governance.visible import visible, visible_again
from remit_server.cli.console import print_json, say, style_text
from remit_server.cli.main import DONE, FAILED
from remit_server.cli.usage import Subcommand, Subcommands
from remit_server.runtime.own_files.folder_record import SKILLS, brought, left_out
from remit_server.runtime.own_files.skill_folders import FoundSkills, SkillFolders, person_folders, policy_reads
from remit_server.runtime.policy.policies import load_in_force
from remit_server.runtime.settings import Settings
from remit_server.tools.skills.skill_file import SKILL_FILE, SKILL_OF, Skill
from remit_server.workspace.paths.workspace_path import Workspace


def _list(arguments: argparse.Namespace) -> int:
    """Lists the skills; exit code 1 if one cannot be used."""
    settings = Settings.from_environment(arguments.workspace)
    found, unread = _find(settings), () if settings.trusted else _unread(settings)
    if arguments.json:
        print_json(
            {"skills": list(map(_facts, found.skills)), "problems": list(found.problems), "not_trusted": list(unread)}
        )
    else:
        _say(found, unread, person_folders(settings.person_policy.parent))
    return FAILED if found.problems else DONE


def _find(settings: Settings) -> FoundSkills:
    in_force = load_in_force(settings)
    try:
        with Workspace(settings.workspace, settings.opened_as) as workspace:
            may_read = policy_reads(lambda: in_force.policy)
            person = person_folders(settings.person_policy.parent)
            return SkillFolders(person, workspace, lambda: bool(settings.trusted), may_read).find()
    finally:
        in_force.close()


def _unread(settings: Settings) -> tuple[str, ...]:
    return tuple(name for name in brought(settings.workspace) if name in SKILLS)


def _say(found: FoundSkills, unread: tuple[str, ...], places: tuple[object, ...]) -> None:
    if not found.skills:
        say(f"there are no skills; put a folder with a {SKILL_FILE} into {places[0]}: docs/skills.md says how")
    for each in found.skills:
        narrows = "" if each.intents is None else f", narrows to {', '.join(sorted(each.intents)) or 'nothing'}"
        say(f"{each.name} ({SKILL_OF[each.of]}{narrows}): {visible_again(each.description)}")
        say(f"  {visible(str(each.folder), 'show')}")
    if unread:
        say(left_out(unread))
    for problem in found.problems:
        say(f"{style_text('✗', 'red')} {visible_again(problem)}")


def _facts(each: Skill) -> dict[str, object]:
    return {
        "name": each.name,
        "description": each.description,
        "of": each.of,
        "folder": str(each.folder),
        "intents": None if each.intents is None else sorted(each.intents),
    }


COMMAND = Subcommands({"list": Subcommand(_list, "your skills and this project's; exits 1 if one cannot be used")})
add_arguments, run = COMMAND.add_arguments, COMMAND.run
