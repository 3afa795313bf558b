"""The syntaxes in which models spell tool calls, as one table (`table.py`, a row is a `Dialect`; MOD-16).

How a call is read in one (`read.py`, `quoted_keys.py`), and whether a call in a text is only quoted there
(`quotation.py`). Absent: any library of models.
"""
