"""A client of the seed's server, written from its text alone (CLI-01), with the standard library and without Remit.

`python seed_client.py COMMAND…` starts the server, goes once through everything the seed describes, and prints what it got.
"""

import json
import subprocess
import sys


class IntelligenceKit:
    """The server's process, asked one request at a time."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def request(self, **fields):
        self.process.stdin.write(json.dumps(fields).encode("utf-8") + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def check_availability(self):
        answer = self.request(command="check-availability")
        return answer["available"], answer.get("reason")

    def open_session(self, instructions=None):
        fields = {"instructions": instructions} if instructions is not None else {}
        answer = self.request(command="open-session", **fields)
        if not answer["ok"]:
            raise RuntimeError(answer["error"])
        return answer["session_id"]

    def message(self, session_id, prompt, content, output_format):
        answer = self.request(
            command="message", session_id=session_id, prompt=prompt, content=content, output_format=output_format
        )
        if not answer["ok"]:
            raise RuntimeError(answer["error"])
        return answer["result"]

    def close_session(self, session_id):
        return self.request(command="close-session", session_id=session_id) == {"ok": True}

    def shutdown(self):
        done = self.request(command="shutdown") == {"ok": True}
        return done and self.process.stdout.read() == b"" and self.process.wait(60) == 0


def main(command):
    kit = IntelligenceKit(command)
    available, reason = kit.check_availability()
    if not available:
        raise SystemExit(reason)
    session = kit.open_session("You are a tagging assistant.")
    tags = kit.message(session, "Generate 3-5 topic tags", "A long talk about soil, seeds and rain.", "string_list")
    summary = kit.message(session, "Summarize in one sentence", "A long talk about soil.", "text")
    closed = kit.close_session(session)
    try:
        kit.message(session, "Summarize", "again", "text")
        after = None
    except RuntimeError as error:
        after = str(error)
    print(json.dumps({"tags": tags, "summary": summary, "closed": closed, "after": after, "ended": kit.shutdown()}))


if __name__ == "__main__":
    main(sys.argv[1:])
