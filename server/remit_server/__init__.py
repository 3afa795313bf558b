"""Remit's server: the language server, the agent, the model and the sandboxes.

Its processes, the threads of each, and when each ends:

- The server (`remit serve`), or a command of the command line. It has the event loop; a reader and a writer for the
  protocol (`transports/lsp/rpc/frames.py`), so that no peer can block it; workers for files, imports and searches that
  take more than a moment; and a thread that maintains the audit log. It ends when its client has gone, at `exit`, or by
  a signal: running turns are cancelled, which denies what is pending.
- The gateway (`remit gateway`). It has the event loop, a reader, a writer, and a thread that waits for the client to
  be gone. It ends at `shutdown`, at the end of input, by SIGINT or SIGTERM, or when its client no longer reads.
- The model (`python -m remit_server.models.local.host`), started on the first request and again after it died. One
  thread reads the pipe; another one does all importing, loading and generating, and checks between two tokens what was
  asked or cancelled. It ends with its pipe, or when no request came for long. `models/local/wire.py` has its messages.
- A sandboxed command, one process each: in namespaces, with no network but the server's proxy to the hosts that it
  listed, as an ordinary user, with everything read-only but a scratch folder and the layer over the workspace. It ends
  at a limit, when its call is cancelled, or when the server dies.
- A person's extension rules, one process for all of them. It ends when the runtime closes, and is started again if an
  answer takes over 100 ms or is not valid.

A write that has begun is finished (`uninterrupted.py`), even if its call is cancelled.
"""

__version__ = "0.1.0"
