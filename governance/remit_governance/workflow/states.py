"""The nouns of the workflow: states, modes, and what can happen in a session (FLW-01)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """Where a session's work stands."""

    IDLE = "idle"
    PLANNING = "planning"
    TEST_WRITING = "test_writing"
    CODE_WRITING = "code_writing"
    VALIDATING = "validating"
    REVIEWING = "reviewing"
    COMMITTING = "committing"
    EXPLORING = "exploring"
    RETROACTIVE_TESTING = "retroactive_testing"


class Mode(StrEnum):
    """How much of the workflow a session is held to, the strictest first."""

    STRICT = "strict"
    EXPLORE = "explore"
    DEBUG = "debug"


class Trigger(StrEnum):
    """Something that happened, and may lead to another state."""

    MESSAGE = "message"
    PLAN_COMPLETED = "plan_completed"
    EXEMPTION_GRANTED = "exemption_granted"
    TESTS_STARTED = "tests_started"
    TESTS_ENDED = "tests_ended"
    TESTS_REVISED = "tests_revised"
    TESTS_WANTED = "tests_wanted"
    UNTESTED = "untested"
    APPROVED = "approved"
    REJECTED = "rejected"
    COMMITTED = "committed"
    RESET = "reset"


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known when something happens, as guards look at it.

    `red`: a new or changed test ran and failed by an assertion. `green`: the tests that were to pass ran unchanged and
    passed, and no other got worse. `changed`: the session has changed something since it began to write code (in
    `retroactive_testing`: tests). `within_budget`: coverage has not fallen below what the debt budget bears.
    `restored`: what the session changed of the code since the tests failed is taken back. `tests_alone`: new files of
    tests are all that was written since the plan, and every test passes. `untouched`: no test file is another than when
    the plan was complete.
    """

    red: bool = False
    green: bool = False
    changed: bool = False
    within_budget: bool = True
    restored: bool = False
    tests_alone: bool = False
    untouched: bool = False
