"""The syntaxes in which models spell tool calls, as one table (MOD-16).

The syntaxes in which models spell calls, as one table (`table.py`, a row is a `Dialect`), and how a call is spelled
and read (`read.py`, `quoted_keys.py`) in one, and whether a call in a text is only quoted there
(`quotation.py`). Absent: any library of models.
"""
