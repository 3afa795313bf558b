"""The editor's open files, as it reports them, and their paths.

The files that the editor has open (`documents.py`; `own_files.py` for those that Remit itself reads), edits in LSP's
units (`edits.py`), where a URI leads (`uris.py`).
"""
