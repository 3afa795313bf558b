"""Turns over HTTP, with events as SSE, and over WebSocket, on this machine's own address alone (TRN-06).

`local_http/` listens and guards every request. `app.py` has the routes, `openapi.py` describes them, `page/` is the
built-in page, and `main.py` is the process. `runtime/turns/streamed_client.py` handles a WebSocket's messages. Absent:
TLS, cookies.
"""
