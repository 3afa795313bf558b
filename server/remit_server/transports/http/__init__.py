"""Turns over HTTP, with events as SSE, and over WebSocket, on this machine's own address alone (TRN-06).

`local_http/` listens and stands before everything, `app.py` has the routes, which `openapi.py` tells, `page/` the page
and `main.py` is the process. What a WebSocket's messages mean is `runtime/streamed_client.py`'s. Absent: TLS, cookies.
"""
