"""Pages of the web: `web_fetch.py` is the row; `inside_fetch.py` runs in the sandbox, fetches a page and extracts its
readable text (TOOL-26)."""
