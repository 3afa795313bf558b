"""Keeps the process of a person's own rules running: starts it and warms it up, asks it one question at a time, and
starts it again after a failure (EXT-01).

`Failures` tells when a process that failed may be started again; pure (EXT-02).
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from remit_governance.canonical import Json
from remit_governance.errors import ExtensionError, PolicyError, Problem
from remit_governance.policy.decision.extension import ExtensionRule, Facts, facts_of
from remit_governance.values import Action
from remit_server.extensions.process import ProcessFailed, QuestionTooLong, RuleProcess
from remit_server.sandbox.advice import Fallback, sandbox_advice, this_machine
from remit_server.sandbox.choose import rule_sandboxes
from remit_server.sandbox.ports import Isolation

log = logging.getLogger(__name__)

CALL_S = 0.1
_LOAD_S = 10.0
_WARM_UP = Action("extension.warm_up", path="warm-up")
_NOT_ASKED = "your extension rules cannot be asked"
_STOP_S = 15.0

_Question = tuple[Sequence[str], Facts, "Future[Json]"]


class ExtensionHost:
    """The rules' process, which one thread keeps. Any thread may ask; questions are answered one at a time.

    The first start begins at once, in the background; `call_s` limits the time of each question, without its wait for
    its turn.
    """

    def __init__(self, rules: Sequence[ExtensionRule], workspace: Path, call_s: float = CALL_S) -> None:
        self._rules, self._call_s = tuple(rules), call_s
        self._sandboxes = rule_sandboxes(workspace)
        self._questions: queue.SimpleQueue[_Question | None] = queue.SimpleQueue()
        self._loaded: Future[None] = Future()
        self._lock = threading.Lock()
        self._closed = False
        self._process: RuleProcess | None = None
        self._failures = Failures()
        self._why = ""
        self._nowhere: Isolation | None = None
        # The process dies with the thread that started it, so one thread starts all of them and lives until the end.
        self._thread = threading.Thread(target=self._keep, name="remit-extensions", daemon=True)
        self._thread.start()

    def ask(self, names: Sequence[str], facts: Facts) -> Json:
        """Returns the answers of the named rules, in that order. Raises ExtensionError if the process crashed or took
        too long, or if there is no sandbox."""
        answer: Future[Json] = Future()
        with self._lock:
            if self._closed:
                raise _closing()
            self._questions.put((names, facts, answer))
        return answer.result()

    def check(self) -> None:
        """Wait for the first start. Raises PolicyError if the top level of a rule's file failed. Raises nothing if no
        sandbox works, because then each question is refused.
        """
        self._loaded.result()

    def unanswerable(self) -> ExtensionError | None:
        """Returns why the rules cannot be asked now; None if they can."""
        try:
            self.ask((), facts_of(_WARM_UP))
        except ExtensionError as error:
            return error
        return None

    def close(self) -> None:
        """End the process; pending questions are refused. Idempotent."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._questions.put(None)
        process = self._process
        if process is not None:
            process.kill()
        self._thread.join(_STOP_S)

    def _keep(self) -> None:
        try:
            self._start()
            self._loaded.set_result(None)
        except Exception as error:  # `check` raises it, whatever it is
            self._loaded.set_exception(error)
        while (question := self._questions.get()) is not None:
            names, facts, answer = question
            try:
                answer.set_result(self._answer(names, facts))
            except Exception as error:  # `ask` raises it; otherwise the caller would wait for ever
                answer.set_exception(error)
            # Restart in the background, so that the process is ready when the next question comes.
            try:
                self._restart()
            except Exception:  # this thread must go on, because it answers every question
                log.exception("the process of the extension rules cannot be started again")
        self._end()

    def _answer(self, names: Sequence[str], facts: Facts) -> Json:
        if self._process is not None and not self._process.sound:
            self._failed("it ended by itself, or sent something that nobody asked for")
        process = self._process or self._restart()
        if process is None:
            raise self._refusal()
        try:
            return process.ask({"rules": list(names), "action": facts}, self._call_s)
        except QuestionTooLong:
            raise ExtensionError(
                _NOT_ASKED, "the action is too long for the rules to judge", "shorten the command"
            ) from None
        except ProcessFailed as failed:
            self._failed(str(failed))
            rules, fix = ", ".join(f"`{name}`" for name in names), "see what the rule does; the process is restarted"
            why = f"while {rules} judged this action: {failed} (limit: {self._call_s * 1000:.0f} ms)"
            raise ExtensionError("your extension rules gave no answer", why, fix) from failed

    def _restart(self) -> RuleProcess | None:
        """Returns the process, and starts it if there is none and a restart is due; None if there is still none."""
        if self._process is None and not self._closed and self._failures.wait_s(time.monotonic()) == 0:
            try:
                self._start()
            except PolicyError as error:  # unexpected, because the files could be loaded at the first start
                self._failed(error.why)
        return self._process

    def _start(self) -> None:
        """Start, load, warm up. Raises PolicyError naming a file that cannot be loaded."""
        self._process = self._start_process()
        if self._process is None or self._closed:
            return
        try:
            self._load(self._process)
        except PolicyError:
            self._end()
            raise
        try:
            warm_up: dict[str, Json] = {"rules": [rule.name for rule in self._rules], "action": facts_of(_WARM_UP)}
            self._process.ask(warm_up, _LOAD_S)
        except ProcessFailed as failed:
            self._failed(f"in its warm-up call: {failed}")

    def _start_process(self) -> RuleProcess | None:
        """Returns a process in the first sandbox that starts it. If no sandbox does, notes why and returns None."""
        failures: list[str] = []
        for sandbox in self._sandboxes:
            try:
                process = RuleProcess.start(sandbox)
            except ProcessFailed as failed:
                failures.append(f"`{sandbox.name}`: {failed}")
            else:
                # Keep only the sandbox that worked, so that no restart waits for those that failed.
                self._sandboxes, self._nowhere = (sandbox,), None
                return process
        isolation = Fallback(self._sandboxes, sandbox_advice(this_machine())).isolation()
        self._nowhere = None if isolation.available else isolation
        self._failed("; ".join(failures))
        return None

    def _load(self, process: RuleProcess) -> None:
        problems: list[Problem] = []
        for rule in self._rules:
            try:
                fault = process.ask({"load": {"name": rule.name, "file": rule.file, "text": rule.text}}, _LOAD_S)
            except ProcessFailed as failed:
                why = f"while the file was loaded, its process failed: {failed}"
                raise PolicyError((Problem(rule.file, 1, 1, why, "let its top level only define things"),)) from failed
            if fault is not None:
                problems.append(_problem(rule, fault))
        if problems:
            raise PolicyError(tuple(problems))

    def _failed(self, why: str) -> None:
        if not self._closed:
            log.warning("the process of the extension rules failed: %s", why)
        self._failures, self._why = self._failures.and_one(time.monotonic()), why
        self._end()

    def _end(self) -> None:
        if self._process is not None:
            self._process.close()
            self._process = None

    def _refusal(self) -> ExtensionError:
        if self._closed:
            return _closing()
        if self._nowhere is not None:
            return ExtensionError(_NOT_ASKED, f"there is no sandbox: {self._nowhere.why}", self._nowhere.fix)
        wait = self._failures.wait_s(time.monotonic())
        why = f"their process keeps failing ({self._why}), and is not restarted for {wait:.0f} s"
        return ExtensionError(_NOT_ASKED, why, "correct the rule's file, or remove it, and restart Remit")


def _closing() -> ExtensionError:
    return ExtensionError(_NOT_ASKED, "their process was ended", "ask again")


def _problem(rule: ExtensionRule, fault: Json) -> Problem:
    """Returns the problem in a file's top level as the process reported it, at 1:1 if the report is malformed."""
    told = fault if isinstance(fault, dict) else {}
    line, column, error = (told.get(key) for key in ("line", "column", "error"))
    at = (line, column) if isinstance(line, int) and isinstance(column, int) else (1, 1)
    message = error if isinstance(error, str) else "it cannot be loaded"
    return Problem(rule.file, *at, message, "only Python's standard library can be imported; correct the file")


AT_ONCE = 3
WITHIN_S = 300.0
FIRST_WAIT_S = 10.0


@dataclass(frozen=True, slots=True)
class Failures:
    """The times of the process's failures, oldest first, in seconds of one monotonic clock."""

    times: tuple[float, ...] = ()

    def and_one(self, now: float) -> Failures:
        """Returns these failures and a new one, without those older than `WITHIN_S`."""
        return Failures((*(time for time in self.times if now - time < WITHIN_S), now))

    def wait_s(self, now: float) -> float:
        """Returns the seconds until the process may be started: 0 below three failures in five minutes, then longer and
        longer."""
        recent = [time for time in self.times if now - time < WITHIN_S]
        if len(recent) < AT_ONCE:
            return 0.0
        pause: float = min(FIRST_WAIT_S * 2.0 ** (len(recent) - AT_ONCE), WITHIN_S)
        return max(recent[-1] + pause - now, 0.0)
