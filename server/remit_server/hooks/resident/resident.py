"""The resident process of hooks (HOK-07): keeps imports and policies in memory, and answers as a plain process would.

It ends when nobody asks for a while, when another Remit asks, or when its socket is gone. It serves only processes of
this user, and only in the environment that it was started in.
"""

from __future__ import annotations

import fcntl
import gc
import os
import signal
import socket
import sys
import time
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from remit_governance.audit.store import AuditLog
from remit_server.errors import RemitError, SetupError
from remit_server.hooks.door import Door, Opened, opened_with, remit_program
from remit_server.hooks.formats.agents import AGENTS
from remit_server.hooks.formats.answers import Reply, reply_to_failure
from remit_server.hooks.resident.client import decides, pack, receive, socket_place, stamp
from remit_server.hooks.resident.time_limit import LIMIT_S, time_limit
from remit_server.machine.peers import is_own
from remit_server.runtime.audit.audit_service import ServerRecord, make_checkpoint, open_log_briefly
from remit_server.runtime.policy.policies import InForce, load_in_force, what_they_say
from remit_server.runtime.settings import Settings
from remit_server.workspace.trees.known_folders import KnownFolders

IDLE_S = 600.0
LOOK_S = 5.0
SLOW_S = 2.0
"""Seconds that a client may take for its message."""
MOST_ROOTS = 64


@dataclass(slots=True)
class KnownPolicies:
    """The policies of some workspaces, each kept until a byte of its files changes."""

    _known: dict[Path, tuple[object, InForce]] = field(default_factory=dict[Path, "tuple[object, InForce]"])

    def get(self, settings: Settings) -> InForce:
        """Returns the policy of these settings. Raises SetupError."""
        said = what_they_say(settings)
        if said is None:  # extension rules have a process of their own, which is not kept running
            return load_in_force(settings, hooks=True)
        basis = (settings, said)
        known = self._known.get(settings.workspace)
        if known is None or known[0] != basis:
            if len(self._known) >= MOST_ROOTS:
                self._known.clear()
            known = self._known[settings.workspace] = basis, load_in_force(settings, hooks=True)
        return known[1]


@dataclass(frozen=True, slots=True)
class Asking:
    """The agent that asks, the event if the agent's text does not name it, and the folder and environment of the
    agent's process."""

    agent: str
    event: str | None
    cwd: str
    environment: Mapping[str, str]


@dataclass(slots=True)
class Resident:
    """Answers events, one after the other."""

    environment: Mapping[str, str]
    policies: KnownPolicies = field(default_factory=KnownPolicies)
    folders: dict[Path, KnownFolders] = field(default_factory=dict[Path, KnownFolders])
    seen: dict[Path, Settings] = field(default_factory=dict[Path, Settings])
    logs: list[AuditLog] = field(default_factory=list[AuditLog])
    started: dict[Path, tuple[ServerRecord, str]] = field(default_factory=dict[Path, "tuple[ServerRecord, str]"])

    def answer(self, data: bytes, asking: Asking) -> Reply:
        """Returns the reply to one event, as a plain process in that folder and environment would."""
        row = AGENTS[asking.agent]
        try:
            with time_limit(LIMIT_S):
                reply = self._door(asking).answer(data)
                self._close_logs()
        except RemitError as error:
            return reply_to_failure(row, asking.event, error)
        except Exception as error:  # whatever broke, the call must not go on
            failed = SetupError("the call could not be judged", type(error).__name__, "see `remit doctor`")
            return reply_to_failure(row, asking.event, failed)
        finally:
            with suppress(Exception):
                self._close_logs()
        return reply

    def leave(self) -> None:
        """Records the end in each log in which a start was recorded, and makes signed checkpoints."""
        for root, settings in self.seen.items():
            with suppress(RemitError, OSError):
                if root in self.started:
                    server, version = self.started[root]
                    with closing(open_log_briefly(settings)) as log:
                        replace(server, log=log).end(version)
                make_checkpoint(settings)

    def _door(self, asking: Asking) -> Door:
        return Door(
            agent=AGENTS[asking.agent],
            environment=asking.environment,
            here=asking.cwd,
            named=asking.event,
            remit=remit_program(),
            open_workspace=self._open,
            folders_of=lambda root: self.folders.setdefault(root, KnownFolders()),
        )

    def _open(self, root: Path, environment: Mapping[str, str]) -> Opened:
        settings = Settings.from_environment(root, environment)
        self.seen[root] = settings

        in_force = self.policies.get(settings)

        def log() -> AuditLog:
            self.logs.append(open_log_briefly(settings))
            if root not in self.started:
                version = in_force.policy.version
                server = ServerRecord(self.logs[-1])
                server.start(version)
                self.started[root] = server, version
            return self.logs[-1]

        return opened_with(settings, in_force, log, environment)

    def _close_logs(self) -> None:
        while self.logs:
            self.logs.pop().close()


def serve(environment: Mapping[str, str], idle_s: float = IDLE_S) -> None:
    """Serves until nobody has asked for `idle_s` seconds. Returns at once if another process serves here already."""
    folder, name = socket_place(environment)
    os.umask(0o077)
    Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)
    os.chdir(folder)
    if os.stat(".").st_uid != os.geteuid():  # noqa: PTH116
        return
    lock = os.open(f"{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return
    os.chmod(".", 0o700)  # noqa: PTH101
    with suppress(FileNotFoundError):
        os.unlink(name)  # noqa: PTH108
    resident = Resident(environment)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(name)
        listening.listen(64)
        listening.settimeout(LOOK_S)
        gc.collect()
        gc.freeze()
        with suppress(OSError):
            _serve(listening, resident, os.stat(name).st_ino, name, idle_s)  # noqa: PTH116
        with suppress(OSError):
            os.unlink(name)  # noqa: PTH108
    resident.leave()


def _serve(listening: socket.socket, resident: Resident, inode: int, name: str, idle_s: float) -> None:
    mine, since = stamp(), time.monotonic()
    while time.monotonic() - since < idle_s:
        try:
            connection, _ = listening.accept()
        except TimeoutError:
            if os.stat(name).st_ino != inode or stamp() != mine:  # noqa: PTH116
                return
            continue
        with connection:
            if not is_own(connection):
                continue
            since = time.monotonic()
            try:
                connection.settimeout(SLOW_S)
                if not _answer(connection, resident, mine):
                    return
            except (OSError, ValueError):
                continue


def _answer(connection: socket.socket, resident: Resident, mine: str) -> bool:
    """Answers one client; returns False, with no answer, if another Remit asks. Another environment gets no answer."""
    data, *given = receive(connection)
    head = [part.decode("utf-8", "surrogateescape") for part in given]
    its_stamp, agent, event, cwd = head[:4]
    environment = dict(part.split("=", 1) for part in head[4:])
    if its_stamp != mine or stamp() != mine:
        return False
    if decides(environment) != decides(resident.environment) or agent not in AGENTS:
        return True
    reply = resident.answer(data, Asking(agent, event or None, cwd, environment))
    connection.sendall(pack((str(reply.code).encode(), reply.out.encode(), reply.err.encode())))
    return True


if __name__ == "__main__":
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    serve(dict(os.environ))
    sys.exit(0)
