"""Tools of MCP servers: each call starts its server in the sandbox, and ends it (TOOL-18).

`servers.py` is what is kept of a server, `inside_mcp.py` is the client,
which runs in the sandbox, `calls.py` puts the question to it, and `rows.py` makes rows of what was looked at.
"""
