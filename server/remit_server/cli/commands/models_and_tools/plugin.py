"""`remit plugin`: manages the person's plugins, and shows what each may do before it is installed (PLG-07)."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from remit_governance.policy.decision.evaluate import evaluate
from remit_governance.values import Action, Verdict
from remit_governance.visible import visible, visible_again
from remit_server.cli.approval import agrees
from remit_server.cli.console import print_json, say, style_text
from remit_server.cli.main import DENIED, DONE, FAILED
from remit_server.cli.usage import Subcommand, Subcommands, WrongUsage
from remit_server.errors import SetupError, ToolError, addressed_to_person, os_reason
from remit_server.harness.calls import OWN, tags_of
from remit_server.runtime.own_files.places import config_folder
from remit_server.runtime.own_files.plugins import Found, Plugins, install, keep, remove
from remit_server.runtime.policy.policies import load_in_force
from remit_server.runtime.settings import Settings
from remit_server.tools.external.find_tools import FIND_TOOLS
from remit_server.tools.plugins.manifest import CAPABILITIES, Kind, Manifest, manifest_of, read_files
from remit_server.tools.plugins.record import PluginState, changed_files, differences, taken
from remit_server.tools.plugins.rows import SDK, command_of, name_of
from remit_server.tools.skills.read_skill import READ_SKILL
from remit_server.tools.table import TOOLS


def _list(arguments: argparse.Namespace) -> int:
    """Shows the plugins; exit code 1 if one of them cannot be used although the person did not disable it."""
    found = [each for each in _all() if _is_meant(each, arguments)]
    for each in found:
        print_json(_facts(each)) if arguments.json else say("\n".join(_summary(each)))
    if not found and not arguments.json:
        say(_none(arguments))
    bad = (_is_unusable(each) or _is_off_by_itself(each) for each in found)
    return FAILED if any(bad) else DONE


def _none(arguments: argparse.Namespace) -> str:
    if arguments.tag is None and not arguments.rejected:
        return "there are no plugins; add one: `remit plugin install FOLDER`"
    rejected = "that cannot be used" if arguments.rejected else ""
    tagged = f"with the tag `{visible(arguments.tag, 'show')}`" if arguments.tag is not None else ""
    return f"there is no plugin {' and '.join(filter(None, (rejected, tagged)))}"


def _is_meant(found: Found, arguments: argparse.Namespace) -> bool:
    if arguments.rejected and not _is_unusable(found):
        return False
    return arguments.tag is None or (found.manifest is not None and arguments.tag in found.manifest.own_tags)


def _is_unusable(found: Found) -> bool:
    return found.life.state is PluginState.REJECTED or (found.life.usable and bool(_lacks(found.manifest)))


def _is_off_by_itself(found: Found) -> bool:
    off = found.life.state is PluginState.DISABLED
    return off and found.record is not None and (found.record.enabled or bool(found.record.reason))


def _declare_list(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rejected", action="store_true", help="only those that cannot be used at all")
    parser.add_argument("--tag", help="only those with this tag")


def _show(arguments: argparse.Namespace) -> int:
    """Shows one plugin, and what changed in it since the person took it."""
    found = _named(arguments.name)
    lines = list(differences(found.record, found.files)) if found.record and found.files is not None else []
    if arguments.json:
        print_json({**_facts(found), "differences": lines})
        return DONE
    say("\n".join(_summary(found)))
    if found.manifest is not None:
        say("\n".join((*_about(found.manifest), *_may(found.manifest))))
    for line in lines:
        say(visible(line))
    return DONE


def _install(arguments: argparse.Namespace) -> int:
    """Shows what a plugin may do, and installs it after a yes."""
    source: Path = arguments.folder
    files = read_files(source, source=True)
    manifest = manifest_of(source, files)
    _require_readers(arguments.reads_only, manifest)
    before = next((each for each in _all() if each.name == manifest.name), None)
    _refuse_names(manifest, before)
    if not arguments.json:
        say("\n".join((*_about(manifest), *_may(manifest), *_denied(manifest, arguments.workspace))))
        if lacks := _lacks(manifest):
            say(f"  {style_text('!', 'yellow')} {visible_again(lacks)}")
        if before is not None and before.record is not None:
            lines = [visible(line) for line in differences(before.record, files)]
            say("\n".join(lines) or "its files are the ones that you accepted")
    if not arguments.yes and not agrees(f"install it, and {_USE[manifest.kind]}?"):
        return DENIED
    place = install(config_folder(os.environ), manifest, files, arguments.reads_only)
    if arguments.json:
        print_json({"installed": manifest.name, "place": str(place), "tools": _names(manifest)})
    else:
        say(f"installed in {place}")
    return DONE


def _declare_install(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="the folder with its `plugin.yaml`")
    parser.add_argument("--reads-only", action="append", default=[], metavar="TOOL", help="a tool that changes nothing")
    parser.add_argument("--yes", action="store_true", help="install it without asking")


def _require_readers(names: Iterable[str], manifest: Manifest) -> None:
    """Raises WrongUsage if the plugin has no such tool, or the tool proposes patches and so does not only read."""
    forms = {tool.name: tool for tool in manifest.tools}
    for name in names:
        if name not in forms:
            fix = f"it has: {', '.join(forms)}"
            raise WrongUsage("the plugin was not installed", f"it has no tool `{name[:100]}`", fix)
        if forms[name].output == "patch":
            why = f"`{name}` answers with a patch, so it changes something"
            raise WrongUsage("the plugin was not installed", why, "leave out `--reads-only` for it")


def _refuse_names(manifest: Manifest, before: Found | None) -> None:
    """Raises SetupError if a tool would have the name of a tool of Remit's own or of another plugin."""
    others = [each for each in _all() if each.manifest is not None and (before is None or each.name != before.name)]
    used = {name: f"the plugin `{each.name}`" for each in others if each.manifest for name in _names(each.manifest)}
    used |= dict.fromkeys((*TOOLS, FIND_TOOLS, READ_SKILL), "Remit")
    for name in _names(manifest):
        if name in used:
            why = f"its tool `{name}` has the same name as a tool of {used[name]}"
            raise SetupError("the plugin was not installed", why, "have its author give it another name")


def _enable(arguments: argparse.Namespace) -> int:
    """Shows what changed in a plugin, and takes it as it is now after a yes; it can be called from then on."""
    found = _named(arguments.name)
    if found.record is None or found.files is None or found.manifest is None:
        raise SetupError("the plugin was not enabled", found.life.reason, "correct that first, or install it again")
    if found.life.usable:
        print_json({"enabled": found.name}) if arguments.json else say(f"{found.name} is enabled already")
        return DONE
    changed = changed_files(found.record, found.files)
    if not arguments.json:
        say("\n".join((*_about(found.manifest), *_may(found.manifest))))
        say(f"it was disabled: {visible_again(found.life.reason)}")
        for line in differences(found.record, found.files):
            say(visible(line))
    use = _USE[found.manifest.kind]
    question = f"accept it as it is now, and {use}?" if changed else f"{use} again?"
    if not arguments.yes and not agrees(question):
        return DENIED
    # Changed files may hold other tools, so drop what the person said of tools that only read.
    keep(found.place, taken(found.manifest.kind, found.files, () if changed else found.record.reads_only))
    print_json({"enabled": found.name, "changed": list(changed)}) if arguments.json else say(f"{found.name} is enabled")
    return DONE


def _declare_enable(parser: argparse.ArgumentParser) -> None:
    _declare_name(parser)
    parser.add_argument("--yes", action="store_true", help="accept it as it is now, without asking")


def _disable(arguments: argparse.Namespace) -> int:
    """Disables a plugin, so that nothing calls it until it is enabled again."""
    found = _named(arguments.name)
    if found.record is None:
        raise SetupError(
            "the plugin was not disabled", found.life.reason, "nothing has to be done: it is not called now"
        )
    keep(found.place, found.record.model_copy(update={"enabled": False, "reason": ""}))
    print_json({"disabled": found.name}) if arguments.json else say(f"{found.name} is disabled")
    return DONE


def _remove(arguments: argparse.Namespace) -> int:
    name: str = arguments.name
    try:
        there = name in {each.name for each in _all()} and remove(config_folder(os.environ), name)
    except OSError as error:
        raise SetupError("the plugin was not removed", os_reason(error), "remove its folder by hand") from error
    if not there:
        raise _unknown(name)
    print_json({"removed": name}) if arguments.json else say(f"removed {name}")
    return DONE


def _declare_name(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the plugin")


def _all() -> tuple[Found, ...]:
    return Plugins(config_folder(os.environ)).find()


def _named(name: str) -> Found:
    """Returns a plugin. Raises WrongUsage if there is none of this name."""
    found = next((each for each in _all() if each.name == name), None)
    if found is None:
        raise _unknown(name)
    return found


def _unknown(name: str) -> WrongUsage:
    return WrongUsage("nothing was done", f"there is no plugin `{name[:100]}`", "see `remit plugin list`")


def _names(manifest: Manifest) -> list[str]:
    """Returns the names under which the plugin's tools are called; leaves out names that would be too long."""
    names: list[str] = []
    for tool in manifest.tools:
        try:
            names.append(name_of(manifest.name, tool.name))
        except ValueError:
            continue
    return names


def _facts(found: Found) -> dict[str, object]:
    told: dict[str, object] = {"name": found.name, "state": found.life.state, "place": str(found.place)}
    if found.life.reason:
        told["reason"] = found.life.reason
    elif lacks := _lacks(found.manifest):
        told["reason"] = lacks
    if (manifest := found.manifest) is not None:
        told |= {
            "kind": manifest.kind,
            "version": manifest.version,
            "author": manifest.author,
            "runtime": manifest.runtime,
            "tags": list(manifest.own_tags),
            "tags_refused": [tag for tag in manifest.tags if tag not in manifest.own_tags],
            "unread": list(manifest.unread),
            "tools": _names(manifest),
        }
        told |= {"capabilities": list(manifest.required_capabilities), "hosts": list(manifest.hosts)}
        told["reads"] = [str(path) for path in manifest.reads]
    return told


def _summary(found: Found) -> Iterator[str]:
    lacks = _lacks(found.manifest)
    mark = "" if found.life.usable and not lacks else f"{style_text('✗', 'red')} "
    version = f" {found.manifest.version}" if found.manifest else ""
    yield f"{mark}{visible(found.name, 'show')}{version}: {found.life.state}"
    if found.life.reason:
        yield f"  {visible_again(found.life.reason)}"
    if lacks:
        yield f"  {visible_again(lacks)}"
    if found.manifest is not None:
        yield f"  {visible_again(found.manifest.words)}"
        yield f"  tools: {', '.join(_names(found.manifest))}" if found.manifest.tools else "  a rule"


def _about(manifest: Manifest) -> Iterator[str]:
    author = f", by {visible(manifest.author, 'show')}" if manifest.author else ""
    yield f"{manifest.name} {manifest.version}{author}: {visible_again(manifest.words)}"


def _lacks(manifest: Manifest | None) -> str:
    """Returns why a valid plugin cannot run on this machine, or an empty string if it can."""
    if manifest is not None and manifest.kind == "tools":
        try:
            command_of(manifest, Path("/"))
        except ToolError as error:
            return f"{error.what}: {error.why}; {addressed_to_person(error.fix)}"
    return ""


def _may(manifest: Manifest) -> Iterator[str]:
    """Yields all that a plugin may do, in words."""
    if manifest.kind == "rules":
        yield f"  is a rule: {manifest.entry} can deny calls, or make Remit ask you about them; it cannot allow any"
        return
    may = [CAPABILITIES[each] for each in dict.fromkeys(manifest.required_capabilities)]
    yield f"  runs: {manifest.entry}, by {manifest.runtime}, for at most {manifest.timeout_seconds} s"
    yield f"  may: {', '.join(may) or 'nothing but compute'}"
    yield f"  reaches: {', '.join(manifest.hosts) or 'nothing'}"
    yield f"  also reads: {', '.join(visible(str(path), 'show') for path in manifest.reads) or 'nothing'}"
    if refused := [tag for tag in manifest.tags if tag not in manifest.own_tags]:
        yield f"  does not get the tags: {', '.join(refused)}"
    if manifest.unread:
        yield f"  is not checked for: {visible(', '.join(manifest.unread), 'show')}"
    for tool in manifest.tools:
        answers = ", proposes a patch" if tool.output == "patch" else ""
        yield f"  {manifest.name} {tool.name}{answers}: {visible_again(' '.join(tool.description.split())[:200])}"


_USE: Mapping[Kind, str] = {"tools": "let models call its tools", "rules": "ask it about calls from now on"}


def _denied(manifest: Manifest, workspace: Path) -> Iterator[str]:
    """Yields what the policy in force denies the plugin, even if the person installs it; each call is judged again."""
    try:
        in_force = load_in_force(Settings.from_environment(workspace))
    except SetupError as error:  # the installed version of this very plugin may be the cause
        yield f"  {style_text('!', 'yellow')} {visible_again(error.what)}: {visible_again(error.why)}"
        return
    try:
        for name in _names(manifest):
            tags = tags_of("model", name) | OWN
            asked = [("process.exec", Action("process.exec", tool=name, command=(name,), caller_tags=tags))]
            asked += [(host, Action("net.connect", tool=name, host=host, caller_tags=tags)) for host in manifest.hosts]
            denied = [what for what, action in asked if evaluate(in_force.policy, action).verdict is Verdict.DENY]
            if denied:
                yield f"  {style_text('!', 'yellow')} your policy denies {name}: {', '.join(denied)}"
    finally:
        in_force.close()


def _sdk(arguments: argparse.Namespace) -> int:
    """Says where the Python SDK is, for an editor and a type checker."""
    print_json({"folder": str(SDK)}) if arguments.json else say(str(SDK))
    return DONE


PLUGINS: Mapping[str, Subcommand] = {
    "list": Subcommand(_list, "show your plugins, and why one cannot be used", _declare_list),
    "show": Subcommand(_show, "show a plugin, what it may do, and what changed since you accepted it", _declare_name),
    "install": Subcommand(_install, "show what a plugin may do, and install it", _declare_install),
    "enable": Subcommand(_enable, "accept a plugin as it is now, and offer its tools", _declare_enable),
    "disable": Subcommand(_disable, "stop offering a plugin's tools", _declare_name),
    "remove": Subcommand(_remove, "remove a plugin", _declare_name),
    "sdk": Subcommand(_sdk, "show where the Python SDK for plugins is"),
}

COMMAND = Subcommands(PLUGINS)
add_arguments, run = COMMAND.add_arguments, COMMAND.run
