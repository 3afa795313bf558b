"""Tools of MCP servers: each call starts its server in the sandbox, and ends it (TOOL-18).

`servers.py` reads a server's saved form, `inside_mcp.py` is the client that runs in the sandbox, `calls.py` asks
through it, and `rows.py` makes rows of the reviewed tools.
"""
