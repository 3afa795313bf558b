"""The editor's open files, as it reports them, and their paths.

`documents.py` keeps the open documents, `own_files.py` those of them that Remit itself reads; `edits.py` computes edits
in LSP's units, and `uris.py` converts URIs to paths. `virtual_addresses.py` parses the addresses of documents that are
no files.
"""
