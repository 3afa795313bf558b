"""`remit policy replay|update`: judges past calls again, and changes a policy file after showing that (CLI-01)."""

from __future__ import annotations

import argparse
import sys
import termios
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace as changed
from pathlib import Path

from remit_governance.errors import PolicyError
from remit_governance.policy.language.load import read_source
from remit_governance.policy.review.replay import LAST, Change, Replay, replay
from remit_governance.policy.review.update import MANY_BREAKING, Proposal
from remit_governance.policy.rules import Policy
from remit_governance.values import Verdict
from remit_governance.visible import visible
from remit_server.cli.approval import YES, can_ask
from remit_server.cli.console import complain, diff_line, print_json, print_result, say, style_text
from remit_server.cli.main import DENIED, DONE, FAILED
from remit_server.cli.new_ids import new_session
from remit_server.cli.usage import Subcommand, add_candidate_arguments, whole_number
from remit_server.contract import ErrorCode
from remit_server.counted import counted
from remit_server.errors import SetupError
from remit_server.runtime.audit.audit_service import ServerRecord, open_log
from remit_server.runtime.policy.past_calls import about, deciding_rules, read_past_calls, replay_payload
from remit_server.runtime.policy.policies import candidate, load_in_force
from remit_server.runtime.policy.policy_update import Entry, Target, apply, judge, propose, target_file
from remit_server.runtime.settings import Settings


def change_lines(replay: Replay) -> Iterator[str]:
    """Yields a line for every changed verdict, then the numbers of changed and skipped calls."""
    for change in replay.changes:
        yield _line(change)
    yield _count_words(replay)


def _line(change: Change) -> str:
    record = change.call.record
    what = f"{record.event.tool_name or change.call.actions[0].syscall} {about(change.call.actions[0])}".rstrip()
    mark = f"{style_text('[BREAKING]', 'red')} " if change.breaking else ""
    verdicts = f"{change.call.was.word} → {change.now.verdict.word}"
    return f"{mark}record {record.number}: {what}: {verdicts} by {deciding_rules(change.now)}"


def _count_words(replay: Replay) -> str:
    calls = f"{counted(replay.judged, 'call')} judged again"
    changed = f"{len(replay.changes) or 'none'} would be decided differently"
    breaking = f", {len(replay.breaking)} of them [BREAKING]" if replay.breaking else ""
    skipped = "".join(f"; {count} skipped: {why}" for why, count in sorted(replay.skipped.items()))
    return f"{calls}: {changed}{breaking}{skipped}"


def _declare_replay(parser: argparse.ArgumentParser) -> None:
    add_candidate_arguments(parser)
    parser.add_argument("-n", "--last", type=whole_number, default=LAST, help=f"how many calls (default {LAST})")


def _replay(arguments: argparse.Namespace) -> int:
    """Judges the calls again."""
    settings = Settings.from_environment(arguments.workspace)
    with closing(load_in_force(settings)) as in_force:
        policy = candidate(settings, arguments.policy, in_force.policy, project=arguments.project)
        done = replay(policy, read_past_calls(settings.audit_database, arguments.last))
    if arguments.json:
        print_json(replay_payload(done))
    else:
        for line in change_lines(done):
            say(line)
    return DONE


def _declare_update(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="the new text")
    parser.add_argument("--project", action="store_true", help="change the project's policy instead of yours")
    parser.add_argument("-n", "--last", type=whole_number, default=LAST, help=f"calls to replay (default {LAST})")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--dry-run", action="store_true", help="only show what would change, and the phrase for --confirm")
    how.add_argument("--confirm", metavar="PHRASE", help="for scripts: the phrase that the dry run printed")


def _update(arguments: argparse.Namespace) -> int:
    """Changes the file; exit code 3 if policy or the person denied it, or nobody could be asked."""
    settings = Settings.from_environment(arguments.workspace)
    with (
        closing(load_in_force(settings)) as in_force,
        target_file(settings, project=arguments.project) as target,
    ):
        try:
            proposal = _proposal(arguments, settings, in_force.policy, target)
        except PolicyError as error:
            return _report_invalid(error, as_json=arguments.json)
        if not arguments.json:
            _show(proposal)
        if arguments.dry_run or not proposal.changes:
            return _report_unchanged(proposal, arguments)
        decision = judge(in_force, target)
        with closing(open_log(settings)) as maintenance, ServerRecord(maintenance.log).running(in_force.policy.version):
            entry = Entry(maintenance.log, new_session(), decision, in_force.policy.version, proposal, target)
            refusal = _refusal(entry, arguments)
            if refusal is not None:
                entry.record("refused", deny_reason=f"{refusal.what}: {refusal.why}")
                complain(refusal.payload(), as_json=arguments.json)
                return DENIED
            apply(proposal, target, entry)
    print_result(
        _payload(proposal, applied=True),
        f"{style_text('✓', 'green')} {proposal.target} was changed; running servers notice it by themselves",
        as_json=arguments.json,
    )
    return DONE


def _proposal(arguments: argparse.Namespace, settings: Settings, in_force: Policy, target: Target) -> Proposal:
    new = changed(read_source(arguments.file), project=arguments.project)
    return propose(settings, in_force, target, new, arguments.last)


def _report_invalid(error: PolicyError, *, as_json: bool) -> int:
    problems = [str(problem) for problem in error.problems]
    print_result({"ok": False, "problems": problems}, "\n".join([*problems, "nothing was changed"]), as_json=as_json)
    return FAILED


def _report_unchanged(proposal: Proposal, arguments: argparse.Namespace) -> int:
    if arguments.json:
        print_json(_payload(proposal, applied=False))
    elif not proposal.changes:
        say("nothing to change: the file holds this text already")
    else:
        say(f"nothing was changed; to make this change: --confirm {proposal.phrase!r}")
    return DONE


def _refusal(entry: Entry, arguments: argparse.Namespace) -> SetupError | None:
    """Returns why the change is refused, or None if policy and the person agree to it."""
    what = "the policy was not changed"
    if entry.decision.verdict is Verdict.DENY:
        fix = "edit the file yourself, outside Remit, or change that rule"
        return SetupError(what, f"denied by {deciding_rules(entry.decision)}", fix, code=ErrorCode.DENIED)
    proposal = entry.proposal
    if arguments.confirm is not None:
        if arguments.confirm == proposal.phrase:
            return None
        why = "the phrase belongs to another change, or the files have changed since"
        fix = "look at what `--dry-run` shows now, and pass that phrase"
        return SetupError(what, why, fix, code=ErrorCode.APPROVAL_DENIED)
    if arguments.json or not can_ask():
        fix = "run it in a terminal, or with `--dry-run` and then `--confirm` and the phrase that it prints"
        return SetupError(what, "nobody can be asked here", fix, code=ErrorCode.APPROVAL_UNAVAILABLE)
    if _ask_consent(proposal):
        return None
    return SetupError(what, "you did not confirm it", "run it again to be asked again", code=ErrorCode.APPROVAL_DENIED)


def _ask_consent(proposal: Proposal) -> bool:
    """Asks once, in the terminal; only a clear yes, or the whole phrase, is a yes."""
    if proposal.needs_phrase:
        wanted = frozenset({proposal.phrase})
        question = f"more than {MANY_BREAKING} breaking changes: type `{proposal.phrase}` to go on"
    else:
        wanted = YES
        question = "change the policy? [y] yes  [N] no"
    # Keys typed before the question was shown are not an answer to it.
    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    print(f"{style_text(question, 'yellow')}: ", end="", flush=True)
    return sys.stdin.readline().strip().lower() in wanted


def _show(proposal: Proposal) -> None:
    if proposal.before is None:
        say(f"there is no {proposal.target} yet: your file replaces the packaged default, a project's adds to it")
    for line in proposal.diff:
        say(diff_line(visible(line, "show")))
    for line in proposal.settings:
        say(style_text(visible(line, "show"), "yellow"))
    for line in change_lines(proposal.replay):
        say(line)
    for warning in proposal.policy.warnings:
        say(f"{warning} (warning)")


def _payload(proposal: Proposal, *, applied: bool) -> dict[str, object]:
    return {
        "target": proposal.target,
        "applied": applied,
        "changes": proposal.changes,
        "diff": list(proposal.diff),
        "settings": list(proposal.settings),
        "replay": replay_payload(proposal.replay),
        "needs_phrase": proposal.needs_phrase,
        "phrase": proposal.phrase,
        "version": proposal.policy.version,
        "warnings": [str(warning) for warning in proposal.policy.warnings],
    }


REPLAY = Subcommand(_replay, "show past calls that policy would now decide differently", _declare_replay)
UPDATE = Subcommand(_update, "change a policy file, after showing what that changes", _declare_update)
