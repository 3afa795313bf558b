"""Which process is at the other end of a local connection, as the real kernel says (CLI-14, LSP-17)."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from remit_server.machine.peers import (
    Connection,
    connections,
    descends,
    is_from,
    is_listed,
    is_own,
    is_own_user,
    unix_peer,
)

CONNECT = "import socket, sys; c = socket.socket(socket.AF_UNIX); c.connect(sys.argv[1]); sys.stdin.read()"
HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"


def test_CLI_14_a_socket_says_which_process_has_connected(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        argv = [sys.executable, "-c", CONNECT, str(tmp_path / "s")]
        with subprocess.Popen(argv, stdin=subprocess.PIPE) as child, listener.accept()[0] as accepted:
            with closing(unix_peer(accepted)) as peer:
                assert (peer.pid, peer.uid, peer.has_ended) == (child.pid, os.geteuid(), False)
                assert is_own(accepted)
                assert is_from(accepted, child.pid)
                assert is_from(accepted, os.getpid()), "it descends from us"
                child.communicate()
                child.wait()
                assert peer.has_ended or peer.pidfd < 0
            assert not is_from(accepted, child.pid), "its pid may be another's by now"


def test_CLI_14_a_process_that_does_not_descend_is_none_of_its_server(tmp_path: Path) -> None:
    with (
        socket.socket(socket.AF_UNIX) as listener,
        socket.socket(socket.AF_UNIX) as ours,
        subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as server,
    ):
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        ours.connect(str(tmp_path / "s"))
        with listener.accept()[0] as accepted:
            assert not is_from(accepted, server.pid)
        server.communicate(b"\n")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user for a moment")
def test_CLI_14_a_process_of_another_user_is_none_of_ours(tmp_path: Path) -> None:
    place = f"\0{tmp_path}"  # an abstract address has no mode that keeps other users out
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(place)
        listener.listen()
        program = CONNECT.replace("sys.argv[1]", "chr(0) + sys.argv[1]")
        argv = ["/usr/bin/python3", "-c", program, str(tmp_path)]
        with (
            subprocess.Popen(argv, stdin=subprocess.PIPE, user=65534, cwd="/") as other,
            listener.accept()[0] as accepted,
        ):
            assert not is_own(accepted)
            assert not is_from(accepted, other.pid)
            other.communicate()


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_LSP_17_the_table_of_connections_says_whose_one_is(family: socket.AddressFamily) -> None:
    host = "127.0.0.1" if family == socket.AF_INET else "::1"
    try:
        listener = socket.create_server((host, 0), family=family)
    except OSError:
        pytest.skip(f"this machine has no {host}")
    with listener, socket.create_connection(listener.getsockname()[:2]) as ours, listener.accept()[0] as accepted:
        assert is_own_user(accepted)
        ours.close()
        assert not is_own_user(accepted), "nobody holds the other end any more"


@pytest.mark.skipif(shutil.which("lsof") is None, reason="lsof is not on this machine")
def test_LSP_17_where_there_is_no_such_table_lsof_says_it() -> None:
    """This happens on macOS; the test uses this machine's lsof."""
    lsof = shutil.which("lsof")
    assert lsof is not None
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()) as ours,
        listener.accept()[0] as accepted,
    ):
        theirs, here = accepted.getpeername(), accepted.getsockname()
        assert ours.getsockname() == theirs
        assert is_listed(lsof, theirs, here)
        assert not is_listed(lsof, theirs, ("127.0.0.1", 1))


def test_LSP_17_addresses_are_read_as_the_kernel_prints_them(tmp_path: Path) -> None:
    """A client that uses IPv6 for an IPv4 address is in the other table, with a wrapped address."""
    rows = {
        "tcp": ["0: 0100007F:0C38 0100007F:D431 01 0:0 0:0 0 1000 0 77"],
        "tcp6": [
            "0: 0000000000000000FFFF00000100007F:D431 0000000000000000FFFF00000100007F:0C38 01 0:0 0:0 0 7 0 78",
            "1: 00000000000000000000000001000000:0050 00000000000000000000000001000000:0051 01 0:0 0:0 0 8 0 79",
        ],
    }
    if sys.byteorder != "little":
        pytest.skip("the rows are of a machine with the other order")
    for name, lines in rows.items():
        (tmp_path / name).write_text(HEAD + "".join(f"{line}\n" for line in lines))
    one, two = ("127.0.0.1", 0x0C38), ("127.0.0.1", 0xD431)
    assert list(connections(tmp_path)) == [
        Connection(one, two, 1000, 77),
        Connection(two, one, 7, 78),
        Connection(("::1", 80), ("::1", 81), 8, 79),
    ]


def test_CLI_14_the_first_process_descends_from_nobody_else() -> None:
    assert descends(os.getpid(), os.getppid())
    assert not descends(os.getppid(), os.getpid())
    assert not descends(1, os.getpid())
