"""The syntaxes in which models spell tool calls, as one table (`table.py`, a row is a `Dialect`; MOD-16).

`read.py` and `quoted_keys.py` read a call in a dialect, and `quotation.py` tells whether a call in a text is only
quoted there. No library of models is used here.
"""
