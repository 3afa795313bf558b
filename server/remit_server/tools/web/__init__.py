"""Pages of the web: `web_fetch.py` is the row, `inside_fetch.py` runs in the sandbox, fetches, and finds what is to be
read (TOOL-26)."""
