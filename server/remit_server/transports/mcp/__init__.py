"""Remit's tools for other agents, by the Model Context Protocol, over stdio and HTTP, in both of its eras (TRN-20).

`server.py` is what a client finds: `offered.py` lists the tools, `calls.py` runs them as turns, `governance.py` answers
what policy and the audit log say. `exchange.py` is one request as the SDK hands it over, and puts questions,
`clients.py` what is kept of a client. `lines.py` and `web.py` frame, and `main.py` is the
process. Absent: tools of its own that
act.
"""
