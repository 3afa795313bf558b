"""Remit's server: the language server, the agent, the model and the sandboxes.

Its processes, the threads of each, and when each ends:

- The server (`remit serve`), or a command of the command line: the event loop; a reader and a writer of the protocol
  (`transports/lsp/rpc/frames.py`), so that no peer can block it; workers for files, imports and searches that take
  more than a moment; one that maintains the audit log. It ends when its client has gone, at `exit`, or by a signal:
  running turns are cancelled, which denies what is pending.
- The gateway (`remit gateway`): the event loop; a reader, a writer and one that waits for the client to be gone. It
  ends at `shutdown`, at the end of input, by SIGINT or SIGTERM, or when its client no longer reads.
- The model (`python -m remit_server.models.local.host`), started on the first request and again after it died: one that
  reads the pipe, and one that alone imports, loads and generates, and looks between two tokens at what was asked or
  cancelled. It ends with its pipe, or when nobody asks for long. What is said to it is `models/local/wire.py`.
- A sandboxed command, one each: in namespaces without network but the server's proxy to the hosts it listed, as an
  ordinary user, read-only but for a scratch folder and the layer over the workspace. It ends at a limit, when its call
  is cancelled, or when the server dies.
- A person's extension rules, one process for all of them: it ends when the runtime closes, and is started again when an
  answer takes over 100 ms or is none.

Writes are finished once begun (`uninterrupted.py`), whoever cancels.
"""

__version__ = "0.1.0"
