"""A plugin that sends raw bytes. The file `kind` beside it says what it does. It imports nothing of Remit."""

import array
import base64
import json
import os
import socket
import struct
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
KIND = (HERE / "kind").read_text()
NAME, VERSION = HERE.parent.name, "1.0"
TOKEN = os.environ.get("PLUGIN_TOKEN", "")
wire = socket.socket(fileno=int(os.environ["PLUGIN_SOCKET"]))


def frame(message, size=None):
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return struct.pack(">I", len(body) if size is None else size) + body


def send(message):
    wire.sendall(frame(message))


def exactly(count):
    data = b""
    while len(data) < count:
        chunk = wire.recv(count - len(data))
        if not chunk:
            return b""
        data += chunk
    return data


def receive():
    head = exactly(4)
    return json.loads(exactly(struct.unpack(">I", head)[0])) if head else None


def hello(version=2, **other):
    said = {"type": "handshake", "plugin_name": NAME, "plugin_version": VERSION, "token": TOKEN}
    return {**said, "syscall_api_version": version, **other}


def greet(version=2, **other):
    send(hello(version, **other))
    return receive()


def answer(output=None, **more):
    send({"type": "response", "id": request["id"], "result": {"output": output, **more}})
    receive()


def tried(action):
    try:
        return action()
    except OSError as error:
        return f"refused: {error.strerror}"


def connect(host, port):
    with socket.create_connection((host, port), timeout=3) as found:
        return repr(found)


def finish():
    wire.close()
    sys.exit(0)


# Before there is a handshake.
BEFORE = {
    "long": lambda: wire.sendall(struct.pack(">I", 2_000_001) + b"x" * 100),
    "huge": lambda: wire.sendall(struct.pack(">I", 0xFFFFFFFF)),
    "negative": lambda: wire.sendall(struct.pack(">i", -1) + b"{}"),
    "empty": lambda: wire.sendall(struct.pack(">I", 0)),
    "truncated": lambda: wire.sendall(frame(hello(), 5_000)),
    "half-a-head": lambda: wire.sendall(b"\0\0"),
    "no-json": lambda: send(b"\xff\xfe not json"),
    "nan": lambda: send(b'{"type": NaN}'),
    "deep": lambda: send(b"[" * 100_000 + b"]" * 100_000),
    "many": lambda: send(b"[" + b"1," * 60_000 + b"1]"),
    "a-list": lambda: send([hello()]),
    "more-fields": lambda: send(hello(admin=True)),
    "a-word-for-a-number": lambda: send(hello("2")),
    "an-answer-first": lambda: send({"type": "response", "id": "1", "result": {"output": "x"}}),
    "no-token": lambda: send(hello(token="")),
    "another-token": lambda: send(hello(token="a" * 43)),
    "another-name": lambda: send(hello(plugin_name="todo-count")),
    "another-version": lambda: send(hello(plugin_version="9")),
    "nothing": lambda: None,
}
if KIND in BEFORE:
    BEFORE[KIND]()
    if KIND not in {"truncated", "half-a-head", "nothing"}:
        receive()
    finish()
if KIND in {"api-0", "api-1", "api-2", "api-3"}:
    said = greet(int(KIND[-1]))
    if said["type"] == "handshake_refused":
        print(json.dumps(said))
        finish()
    request = receive()
    answer(f"version {said['negotiated_api_version']}")
    finish()
if KIND == "silent":
    time.sleep(600)
if KIND == "descriptors":
    with Path("/dev/null").open() as some:
        rights = array.array("i", [some.fileno()])
        wire.sendmsg([frame(hello())], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
    receive()
    finish()
if KIND == "lies":
    # A process without capabilities may send no credentials but its own.
    forged = struct.pack("=iII", 1, 0, 0)
    told = tried(lambda: wire.sendmsg([frame(hello())], [(socket.SOL_SOCKET, socket.SCM_CREDENTIALS, forged)]))
    greet()
    request = receive()
    answer(told)
    finish()
if KIND == "child-answers":
    greet()
    request = receive()
    if os.fork() == 0:
        send({"type": "response", "id": request["id"], "result": {"output": "the child's"}})
        os._exit(0)
    os.wait()
    finish()
if KIND == "replay":
    # The token of the previous call is here only if that call's changes were merged.
    kept = Path("token.txt")
    old = kept.read_text() if kept.exists() else ""
    greet(**({"token": old} if old else {}))
    request = receive()
    kept.write_text(TOKEN)
    answer("first")
    finish()

greet(1 if KIND == "patch-of-version-1" else 2)
request = receive()
given = request["params"]["arguments"]

if KIND == "echo":
    answer(given)
elif KIND == "deep-answer":
    one = {"type": "response", "id": request["id"], "result": {"output": "HERE"}}
    send(json.dumps(one).replace('"HERE"', "[" * 500 + "]" * 500).encode())
    receive()
elif KIND == "long-answer":
    answer("y" * 100_000)
elif KIND == "endless":
    body = b'{"type": "response", "id": "' + b"x" * 1_000_000
    while True:
        wire.sendall(struct.pack(">I", 2_000_000) + body)
elif KIND == "another-id":
    send({"type": "response", "id": "0" * 36, "result": {"output": "x"}})
elif KIND == "both":
    send({"type": "response", "id": request["id"], "result": {"output": "x"}, "error": {"code": "a", "message": "b"}})
elif KIND == "twice":
    one = {"type": "response", "id": request["id"], "result": {"output": "x"}}
    wire.sendall(frame(one) + frame(one))
elif KIND == "again":
    send(hello())
elif KIND == "fails":
    send({"type": "response", "id": request["id"], "error": {"code": "x", "message": "there is no such town"}})
    receive()
elif KIND == "dies":
    sys.stderr.write("out of luck\n")
    sys.exit(3)
elif KIND in {"patch-of-version-1", "patch"}:
    diff = (HERE / "diff").read_text()
    answer("patched", patch=diff)
elif KIND == "write-and-answer":
    Path("made.txt").write_text("made\n")
    answer("written")
elif KIND == "write-and-break":
    Path("made.txt").write_text("made\n")
    send({"type": "response", "id": "0", "result": {"output": "x"}})
elif KIND == "stays":
    # A grandchild that would go on for ever, in a session of its own.
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execv("/bin/sleep", ["sleep", given["mark"]])
        os._exit(0)
    os.wait()
    answer("answered")
elif KIND == "bombs":
    answer_to = request["id"]
    while True:
        try:
            if os.fork() == 0:
                time.sleep(600)
        except OSError:
            time.sleep(0.01)
elif KIND == "asks-the-proxy":
    proxy = socket.create_connection(("127.0.0.1", 3128), timeout=5)
    proxy.sendall(b"CONNECT other.example:443 HTTP/1.1\r\n\r\n")
    answer(proxy.recv(100).decode().split("\r\n")[0])
elif KIND == "tries":
    outside = given["outside"]
    found = {
        "write outside": tried(lambda: Path(outside, "made").write_text("x") and "in a folder of its own"),
        "write the plugin": tried(lambda: (HERE / "kind").write_text("x") and "written"),
        "write home": tried(lambda: Path("~/.profile").expanduser().write_text("x") and "in a home of its own"),
        "read outside": tried(lambda: Path(outside, "secret").read_text()),
        "read the record": tried((HERE.parent / "record.json").read_text),
        "read the project": tried(lambda: Path(given["project"], "a.py").read_text()),
        "connect out": tried(lambda: connect("192.0.2.1", 443)),
        "connect here": tried(lambda: connect("127.0.0.1", given["port"])),
        "connect by a unix socket": tried(lambda: socket.socket(socket.AF_UNIX) and "made"),
        "fork": tried(lambda: "forked" if os.fork() else os._exit(0)),
        "others": len([each for each in Path("/proc").iterdir() if each.name.isdigit()]),
        "variables": sorted(os.environ),
    }
    answer(base64.b64encode(json.dumps(found).encode()).decode())
finish()
