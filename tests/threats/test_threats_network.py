"""A command tries every way out through the proxy: it reaches the hosts that it listed, and nothing else (BOX-03).

Each test runs a real command in a real sandbox against real servers, under a policy that allows every host.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from bench_runtime import Answering, Bench
from messages import SAYS
from threat_bench import LAX, own, result
from tls import server_context

from remit_governance.audit.record import AuditEvent, AuditKind
from remit_governance.permissions.permissions import PermissionConfig, PermissionRule
from remit_server.harness.commands.inside import Attempts

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("sandbox")]

NET = LAX + "  - { name: net, match: { syscall: net.connect }, action: allow }\n"

# Functions for the attacks: send a request to the proxy by hand, and return the reply.
SAY = """
    import socket, sys
    def say(*parts, port=3128, host="127.0.0.1"):
        with socket.create_connection((host, port), timeout=20) as talk:
            for part in parts:
                talk.sendall(part)
            talk.shutdown(socket.SHUT_WR)
            got = b""
            while chunk := talk.recv(1000):
                got += chunk
        return got
    def tls(place, text, name=None):
        # What a server says in a tunnel that carries TLS, as it should.
        import ssl
        context = ssl._create_unverified_context()
        with socket.create_connection(("127.0.0.1", 3128), timeout=20) as talk:
            talk.sendall(f"CONNECT {place} HTTP/1.1\\r\\n\\r\\n".encode())
            head = b""
            while not head.endswith(b"\\r\\n\\r\\n"):
                head += talk.recv(1) or sys.exit("closed")
            with context.wrap_socket(talk, server_hostname=name) as safe:
                safe.sendall(text)
                got = b""
                while chunk := safe.recv(1000):
                    got += chunk
                return got
    def attempt(name, act):
        try:
            print("REACHED" if act() is not False else "refused", name, flush=True)
        except OSError:
            print("refused", name, flush=True)
"""


class Target(ThreadingHTTPServer):
    """A web server (https) that keeps the request lines in `asked` and calls `act` at each request. If `moved` is set,
    it redirects every client there. `plain` has what clients sent without TLS."""

    moved: str | None = None
    act: Callable[[], None] = staticmethod(lambda: None)

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.plain: list[bytes] = []
        super().__init__(("127.0.0.1", 0), Answer)

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Runs in the connection's own thread, so that waiting for a client's handshake does not block the server."""
        first = request.recv(3, socket.MSG_PEEK)
        if first[:2] != b"\x16\x03":
            self.plain.append(request.recv(1000))
            return
        with server_context().wrap_socket(request, server_side=True) as safe:
            super().finish_request(safe, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores errors, because a client may disconnect in the middle."""
        del request, client_address

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.port}"


class Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Target)
        self.server.asked.append(self.requestline)
        self.server.act()
        moved = self.server.moved
        self.send_response(302 if moved else 200)
        self.send_header("Content-Length", "5")
        if moved:
            self.send_header("Location", moved)
        self.end_headers()
        self.wfile.write(b"hello")

    def handle_one_request(self) -> None:
        super().handle_one_request()
        if self.command != "GET" and isinstance(self.server, Target):
            self.server.asked.append(self.raw_requestline.decode("latin-1").strip())

    def log_message(self, *args: Any) -> None:
        del args


@pytest.fixture
def target() -> Iterator[Target]:
    """The server that the command lists."""
    yield from _serving()


@pytest.fixture
def other() -> Iterator[Target]:
    """The server that the command does not list."""
    yield from _serving()


def _serving() -> Iterator[Target]:
    with Target() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
async def bench(make_bench: Any) -> Bench:
    made: Bench = await make_bench(policy=NET)
    return made


async def _python(bench: Bench, network: list[str], program: str) -> Any:
    """Returns the result of `program`, which the system's Python runs in the sandbox."""
    (bench.workspace / "program.py").write_text(textwrap.dedent(SAY) + textwrap.dedent(program))
    answer = await result(bench, "run_command", command="/usr/bin/python3 program.py", network=network, timeout=60)
    assert answer.error is None, answer.error
    return answer


def _events(bench: Bench, kind: AuditKind) -> list[AuditEvent]:
    return [record.event for record in bench.audit() if record.event.kind is kind]


async def test_programs_reach_what_is_listed(bench: Bench, target: Target) -> None:
    command = (
        f"curl -sk https://{target.place}/curl; echo; sh -c 'echo $HTTPS_PROXY $http_proxy $NO_PROXY'; "
        "/usr/bin/python3 -m http.server 8000 >/dev/null 2>&1 & "
        "for i in 1 2 3 4 5 6 7 8 9; do curl -sf http://localhost:8000/a.py && break; sleep 0.3; done; kill %1"
    )
    answer = await result(bench, "run_command", command=command, network=[target.place], asker=Answering())
    assert target.asked == ["GET /curl HTTP/1.1"]
    assert "hello" in answer.output
    assert "http://127.0.0.1:3128 http://127.0.0.1:3128 localhost,::1\n" in answer.output
    assert "total = 0" in answer.output  # from a server of the command's own
    assert f"network: allowed {target.place}" in answer.output
    (event,) = _events(bench, AuditKind.NETWORK_ALLOWED)
    assert event.metadata == {"host": target.place}
    assert _events(bench, AuditKind.NETWORK_DENIED) == []


TESTS = """
import ssl, unittest, urllib.request

def read(place):
    with urllib.request.urlopen(f"https://{place}/x", context=ssl._create_unverified_context(), timeout=20) as answer:
        return answer.read()

class Reached(unittest.TestCase):
    def test_listed(self):
        self.assertEqual(read("LISTED"), b"hello")
    def test_other(self):
        with self.assertRaises(OSError):
            read("OTHER")
"""


async def test_TOOL_08_tests_reach_the_hosts_that_the_person_names_and_no_other(
    make_bench: Any, target: Target, other: Target
) -> None:
    policy = NET.replace("{ syscall: net.connect }, action: allow", "{ syscall: net.connect }, action: require_review")
    bench: Bench = await make_bench(policy=policy, test_hosts=(target.place,))
    (bench.workspace / "test_reached.py").write_text(
        TESTS.replace("LISTED", target.place).replace("OTHER", other.place)
    )
    asker = Answering()
    answer = await result(bench, "run_tests", asker)
    assert (answer.error, answer.data["totals"]["passed"], answer.data["passed"]) == (None, 2, True)
    assert (target.asked, other.asked) == (["GET /x HTTP/1.1"], [])
    assert [question.hosts for question in asker.asked] == [(target.place,)]
    assert [event.metadata["host"] for event in _events(bench, AuditKind.NETWORK_ALLOWED)] == [target.place]


async def test_TOOL_08_hosts_that_no_rule_allows_are_denied_with_the_run_of_tests(
    make_bench: Any, target: Target
) -> None:
    bench: Bench = await make_bench(policy=LAX, test_hosts=(target.place,))
    (bench.workspace / "test_reached.py").write_text(TESTS.replace("LISTED", target.place))
    answer = await result(bench, "run_tests", Answering())
    assert answer.error.code == "denied"
    assert target.asked == []


async def test_APP_12_a_connection_needs_the_token_that_its_sandbox_was_given(bench: Bench, target: Target) -> None:
    """The connection's token derives from the call's token and is bound to the process in the sandbox; when the policy
    changes, it becomes invalid."""
    await result(bench, "run_command", command=f"curl -sk https://{target.place}/one", network=[target.place])
    records = [record.event for record in bench.all_audit()]
    (created,) = (event.metadata for event in records if event.kind is AuditKind.SANDBOX_CREATED)
    (given,) = (event for event in records if "parent" in event.metadata)
    assert given.metadata == {"parent": "1", "sandbox": created["sandbox"], "pid": created["pid"]}
    (used,) = (event for event in records if event.metadata.get("host") == target.place and event.capability_id == "2")
    assert (used.kind, given.capability_id, created["template"]) == (
        AuditKind.CAPABILITY_USED,
        "2",
        "integration-test",
    )
    rulebook = bench.runtime.dispatcher.parts.rulebook
    target.act = lambda: rulebook.tokens.revoke_other_policies("another") and None
    twice = f"curl -sk https://{target.place}/two; curl -sk https://{target.place}/three || echo refused"
    answer = await result(bench, "run_command", command=twice, network=[target.place])
    assert "refused" in answer.output
    assert "hello" not in answer.output, "its tunnel carries nothing after the token has ended"
    assert target.asked == ["GET /one HTTP/1.1", "GET /two HTTP/1.1"]
    ended, revoked = AuditKind.CAPABILITY_ENDED, AuditKind.CAPABILITY_REVOKED
    ends = [
        (record.event.kind, record.event.capability_id, record.event.metadata.get("why"))
        for record in bench.all_audit()
        if record.event.kind in {ended, revoked, AuditKind.CAPABILITY_EXPIRED}
    ]
    changed = "the policy was changed"
    assert ends == [(ended, "2", None), (ended, "1", None), (revoked, "4", changed), (revoked, "3", changed)]
    (cut,) = _events(bench, AuditKind.NETWORK_DENIED)[:1]
    assert cut.metadata["host"] == target.place


async def test_APP_13_a_token_that_comes_to_its_time_ends_what_runs_under_it(
    bench: Bench, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the clock that limits tokens, two hours pass between two connections of one command."""
    passed = [0.0]
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + passed[0])
    monkeypatch.setattr("remit_server.harness.permit.time", clock)
    target.act = lambda: passed.__setitem__(0, 7200.0)
    twice = f"curl -sk https://{target.place}/one; curl -sk https://{target.place}/two || echo refused"
    answer = await result(bench, "run_command", command=twice, network=[target.place])
    assert "refused" in answer.output
    assert target.asked == ["GET /one HTTP/1.1"]
    expired = _events_of_work(bench, AuditKind.CAPABILITY_EXPIRED)
    assert [event.capability_id for event in expired] == ["2", "1"]
    assert _events_of_work(bench, AuditKind.CAPABILITY_REVOKED) == []


async def test_APP_06_a_person_who_denies_meanwhile_is_heard_at_the_next_byte(bench: Bench, target: Target) -> None:
    """The reply to the first request does not come back, and no other connection is made."""
    rulebook = bench.runtime.dispatcher.parts.rulebook
    deny = PermissionConfig(deny=(PermissionRule(syscall=("net.connect",)),))
    target.act = lambda: rulebook.replace(rulebook.policy, deny) and None
    twice = f"curl -sk https://{target.place}/one; curl -sk https://{target.place}/two || echo refused"
    answer = await result(bench, "run_command", command=twice, network=[target.place])
    assert "refused" in answer.output
    assert "hello" not in answer.output
    assert target.asked == ["GET /one HTTP/1.1"]
    assert SAYS.a_person_has_denied_it in answer.output


async def test_APP_13_a_command_that_waits_for_its_turn_has_its_hosts_when_it_runs(
    make_bench: Any, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of two commands has to wait, and ten minutes pass before it starts, on the clock that limits tokens."""
    bench = await make_bench(policy=NET, integration_test=1)
    passed = [0.0]
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + passed[0])
    monkeypatch.setattr("remit_server.harness.permit.time", clock)
    target.act = lambda: passed.__setitem__(0, 600.0)
    part = own("run_command", command=f"curl -sk https://{target.place}/x", network=[target.place], timeout=60)
    both = await asyncio.gather(bench.ask(part, session="one"), bench.ask(part, session="two"))
    assert [each.status for each in both] == ["completed"] * 2
    assert target.asked == ["GET /x HTTP/1.1"] * 2
    assert ["hello" in event.output for event in bench.of("tool_result")] == [True, True]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root comes into the network of another's process")
@pytest.mark.parametrize("user", [0, 65534])
async def test_BOX_09_a_process_that_comes_into_the_network_from_outside_is_refused(
    bench: Bench, target: Target, user: int
) -> None:
    """Root starts the process there, as the server's own user and as another one; the command itself is still
    served."""
    heard: list[str] = []
    attack = f"""
import socket
talk = socket.create_connection(("127.0.0.1", 3128), timeout=20)
talk.sendall(b"CONNECT {target.place} HTTP/1.1\\r\\n\\r\\n")
print("got", talk.recv(100), flush=True)
"""

    def break_in() -> None:
        target.act = lambda: None
        (created,) = _events_of_work(bench, AuditKind.SANDBOX_CREATED)
        into = ["nsenter", "--target", created.metadata["pid"], "--net"]
        as_user = ["setpriv", f"--reuid={user}", "--clear-groups"]
        ran = subprocess.run(
            [*into, *as_user, "/usr/bin/python3", "-c", attack], capture_output=True, text=True, check=False, timeout=60
        )
        heard.append(ran.stdout + ran.stderr)

    target.act = break_in
    answer = await result(
        bench,
        "run_command",
        command=f"curl -sk https://{target.place}/own; curl -sk https://{target.place}/after",
        network=[target.place],
    )
    assert ("got b''" in heard[0]) or ("ConnectionResetError" in heard[0]), heard
    assert answer.output.count("hello") == 2
    assert target.asked == ["GET /own HTTP/1.1", "GET /after HTTP/1.1"]
    (denied,) = _events(bench, AuditKind.NETWORK_DENIED)
    assert denied.deny_reason == SAYS.the_process_that_connects_is


def _events_of_work(bench: Bench, kind: AuditKind) -> list[AuditEvent]:
    return [record.event for record in bench.all_audit() if record.event.kind is kind]


async def test_THR_sandbox_network_other_hosts_ports_and_ways(bench: Bench, target: Target, other: Target) -> None:
    """THR-sandbox-network-by-ip, THR-sandbox-network-plain-http, THR-sandbox-network-dns, THR-sandbox-network-unix-path,
    THR-sandbox-network-host-header, THR-sandbox-network-direct."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.bind(("127.0.0.1", 0))
        answer = await _python(
            bench,
            [target.place],
            f"""
    import os
    def denied(name, line, *headers):
        head = "\\r\\n".join([line, *headers, "", ""]).encode()
        attempt(name, lambda: b" 200 " in say(head, b"GET /{{0}} HTTP/1.0\\r\\n\\r\\n".replace(b"{{0}}", name.encode())))
    denied("port", "CONNECT {other.place} HTTP/1.1")
    denied("name", "CONNECT localhost:{target.port} HTTP/1.1")
    denied("other-name", "CONNECT example.org:443 HTTP/1.1")
    denied("ip", "CONNECT 127.0.0.2:{target.port} HTTP/1.1")
    denied("number", "CONNECT 2130706433:{target.port} HTTP/1.1")
    denied("mapped", "CONNECT [::ffff:127.0.0.1]:{other.port} HTTP/1.1")
    denied("user", "CONNECT {target.place}@{other.place} HTTP/1.1")
    denied("unix", "CONNECT /run/docker.sock HTTP/1.1")
    denied("host-header", "CONNECT {other.place} HTTP/1.1", "Host: {target.place}")
    denied("folded", "CONNECT {other.place} HTTP/1.1", " {target.place}")
    denied("plain", "GET http://{target.place}/plain HTTP/1.1", "Host: {target.place}")
    denied("plain-host", "GET / HTTP/1.1", "Host: {target.place}")
    denied("socks", "\\x05\\x01\\x00")
    attempt("direct", lambda: socket.create_connection(("127.0.0.1", {other.port}), timeout=5))
    attempt("listed-direct", lambda: socket.create_connection(("127.0.0.1", {target.port}), timeout=5))
    attempt("away", lambda: socket.create_connection(("1.1.1.1", 443), timeout=5))
    attempt("dns", lambda: socket.getaddrinfo("example.org", 443))
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", {udp.getsockname()[1]}))
    attempt("udp", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("1.1.1.1", 53)))
    attempt("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
    attempt("ipv6", lambda: socket.socket(socket.AF_INET6).connect(("::1", {other.port})))
    attempt("unix", lambda: socket.socket(socket.AF_UNIX).connect("/run/docker.sock"))
    attempt("netlink", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4))
    attempt("descriptors", lambda: [os.readlink(f"/proc/self/fd/{{n}}") for n in map(int, os.listdir("/proc/self/fd")) if n > 2 and os.path.exists(f"/proc/self/fd/{{n}}") and "socket" in os.readlink(f"/proc/self/fd/{{n}}")] != [])
    """,
        )
        udp.setblocking(False)
        with pytest.raises(BlockingIOError):
            udp.recv(1)
    assert "REACHED" not in answer.output
    assert answer.output.count("refused") == 23
    assert target.asked == other.asked == []
    denied = {event.metadata["host"] for event in _events(bench, AuditKind.NETWORK_DENIED)}
    assert {other.place, f"localhost:{target.port}", "example.org", f"127.0.0.2:{target.port}"} <= denied
    assert {"/run/docker.sock", f"http://{target.place}/plain"} <= denied
    assert f"network: denied {other.place}, 3 times: it is not listed" in answer.output
    assert all(event.deny_reason for event in _events(bench, AuditKind.NETWORK_DENIED))


async def test_THR_sandbox_network_a_redirect_leads_nowhere_else(bench: Bench, target: Target, other: Target) -> None:
    target.moved = f"https://{other.place}/evil"
    command = f"curl -sSLk https://{target.place}/; echo end"
    answer = await result(bench, "run_command", command=command, network=[target.place], asker=Answering())
    assert target.asked == ["GET / HTTP/1.1"]
    assert other.asked == []
    assert "CONNECT tunnel failed, response 403" in answer.output
    assert f"network: denied {other.place}: it is not listed" in answer.output


async def test_THR_sandbox_network_a_second_connect_goes_to_the_listed_host(
    bench: Bench, target: Target, other: Target
) -> None:
    """THR-sandbox-network-relayed-connect: bytes after the request for a tunnel go through the tunnel, however they are
    sent."""
    first = f"CONNECT {target.place} HTTP/1.1\\r\\n\\r\\n"
    second = f"CONNECT {other.place} HTTP/1.1\\r\\n\\r\\n"
    answer = await _python(
        bench,
        [target.place],
        f"""
    print(say(b"{first}{second}GET /evil HTTP/1.0\\r\\n\\r\\n"))
    print(say(b"{first}", b"{second}"))
    print(tls("{target.place}", b"{second}"))
    """,
    )
    assert other.asked == []
    assert target.asked == [f"CONNECT {other.place} HTTP/1.1"]
    assert answer.output.count("Unsupported method") == 2  # the listed host's own answer: status and page
    assert [e.metadata["host"] for e in _events(bench, AuditKind.NETWORK_DENIED)] == [target.place]
    assert target.plain in ([], [b""], [b"", b""])


@pytest.mark.parametrize(
    "curl", ["--proxytunnel http://{}/", "--proxytunnel telnet://{}", "-sk --tls-max 1.3 https://{}/"]
)
async def test_THR_sandbox_network_a_tunnel_carries_tls_for_its_host_and_nothing_else(
    bench: Bench, target: Target, curl: str
) -> None:
    """THR-sandbox-network-plain-tunnel: plain text that is sent through CONNECT reaches nobody."""
    command = f"echo secret | curl -sS -m 20 {curl.format(target.place)}; echo end"
    answer = await result(bench, "run_command", command=command, network=[target.place], asker=Answering())
    passes = "https://" in curl
    assert bool(target.asked) is passes
    assert not any(target.plain)
    denied = [event.deny_reason for event in _events(bench, AuditKind.NETWORK_DENIED)]
    assert denied == ([] if passes else [SAYS.it_does_not_begin_as])
    assert ("network: denied" in answer.output) is not passes


async def test_THR_sandbox_network_tls_for_another_host_is_cut(bench: Bench, target: Target) -> None:
    """THR-sandbox-network-other-name: one address can serve many names; only TLS for the listed name passes."""
    answer = await _python(
        bench,
        [target.place],
        f"""
    attempt("named", lambda: tls("{target.place}", b"GET / HTTP/1.0\\r\\n\\r\\n", name="evil.example.org"))
    print(tls("{target.place}", b"GET /good HTTP/1.0\\r\\n\\r\\n"))
    """,
    )
    assert target.asked == ["GET /good HTTP/1.0"]
    assert "REACHED" not in answer.output
    (denied,) = _events(bench, AuditKind.NETWORK_DENIED)
    assert denied.deny_reason == "its TLS is for `evil.example.org`"


async def test_THR_sandbox_network_a_socket_that_appears_in_the_workspace_is_out_of_reach(
    bench: Bench, target: Target
) -> None:
    """THR-sandbox-network-unix-socket: the socket is made while the command runs, so nothing could hide it before."""
    here = Path.cwd()

    def appear() -> None:
        os.chdir(bench.workspace)  # the path of a socket may have at most 108 bytes
        try:
            listening.bind("late")
        finally:
            os.chdir(here)
        listening.listen()

    with socket.socket(socket.AF_UNIX) as listening:
        target.act = appear
        answer = await _python(
            bench,
            [target.place],
            f"""
    import os
    tls("{target.place}", b"GET /now HTTP/1.0\\r\\n\\r\\n")
    print(os.listdir())
    one, two = socket.socketpair()
    attempt("late", lambda: socket.socket(socket.AF_UNIX).connect("late"))
    attempt("by a pair", lambda: one.connect("late"))
    """,
        )
    assert "'late'" in answer.output
    assert "REACHED" not in answer.output
    assert answer.output.count("refused") == 2


async def test_THR_sandbox_network_without_a_list_there_is_none(bench: Bench, target: Target) -> None:
    answer = await _python(
        bench,
        [],
        f"""
    import os
    attempt("proxy", lambda: say(b"CONNECT {target.place} HTTP/1.1\\r\\n\\r\\n"))
    attempt("told", lambda: "https_proxy" in os.environ)
    """,
    )
    assert answer.output.count("refused") == 2
    assert target.asked == []


async def test_THR_sandbox_network_the_proxy_dies_with_the_command(bench: Bench, target: Target) -> None:
    """THR-sandbox-network-outlives: neither a tunnel that is left open nor a cancelled call leaves a connection."""
    tasks = len(asyncio.all_tasks())
    line = f"CONNECT {target.place} HTTP/1.1\\r\\n\\r\\n"
    # Read one byte before the program ends: the proxy opens no tunnel for a process that is gone before it is asked
    # for.
    left = f"way = socket.create_connection(('127.0.0.1', 3128)); way.sendall(b'{line}'); way.recv(1)"
    await _python(bench, [target.place], left)
    assert len(asyncio.all_tasks()) == tasks
    running = asyncio.create_task(
        bench.ask(own("run_command", command=f"curl -sk https://{target.place}/; sleep 60", network=[target.place]))
    )
    while not target.asked:
        await asyncio.sleep(0.02)
    running.cancel()
    await asyncio.wait([running])
    assert len(asyncio.all_tasks()) == tasks
    # The connections of the cancelled call are in the log too.
    assert len(_events(bench, AuditKind.NETWORK_ALLOWED)) == 2


async def test_policy_judges_each_host(make_bench: Any, target: Target) -> None:
    rule = "  - {{ name: net, match: {{ host: ['{}', example.org] }}, action: require_review, reason: look }}\n"
    bench: Bench = await make_bench(policy=LAX + rule.format(target.place))
    asker = Answering()
    good = await result(bench, "run_command", asker, command="true", network=[target.place, "example.org"])
    assert good.error is None
    (question,) = asker.asked
    assert question.title == f"run true with network to {target.place}, example.org"
    assert [reason.rule for reason in question.reasons] == ["net"]
    assert question.scopes == ("once",)
    bad = await result(bench, "run_command", asker, command="true", network=[target.place, "evil.org"])
    assert bad.error.code == "denied"
    assert len(asker.asked) == 1


async def test_the_packaged_policy_lets_no_command_of_a_model_reach_anything(make_bench: Any) -> None:
    bench: Bench = await make_bench()
    call = {"type": "call", "tool": "run_command", "arguments": {"command": "true", "network": ["example.org"]}}
    asker = Answering()
    await bench.ask({**call, "intent": "EXECUTE", "by": "model"}, asker=asker)
    assert (bench.of("tool_result")[0].error.code, asker.asked) == ("denied", [])


@pytest.mark.parametrize("host", ["*.example.org", "http://example.org", "exаmple.org", "a.org:99999", "127.1"])
async def test_a_host_that_is_none_is_refused(bench: Bench, host: str) -> None:
    answer = await result(bench, "run_command", command="true", network=[host])
    assert answer.error.code == "invalid_arguments"


def test_nothing_tried_is_nothing_said() -> None:
    assert Attempts(lambda _: None, lambda _: None).report() == ""
