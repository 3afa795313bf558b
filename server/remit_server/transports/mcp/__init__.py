"""Remit's tools for other agents, by the Model Context Protocol, over stdio and HTTP, in both of its eras (TRN-20).

`server.py` is the MCP server: `offered.py` lists the tools, `calls.py` runs calls as turns, and `governance.py` answers
questions about policy and the audit log. `exchange.py` is one request as the SDK passes it on, and asks the person;
`clients.py` keeps what is known of a client. `lines.py` and `web.py` carry messages over a pipe and over HTTP, and
`main.py` is the process. Absent: tools of its own that act.
"""
