"""A whole step as one JSON value, for engines that decode by a schema (MOD-12).

A step in one request, held by a schema, for served models and for small ones on this machine (`held.py`): its schema
(`schema.py`), how the conversation is spelled (`spelling.py`) and the step read (`reading.py`), what is told
(`telling.py`), and the examples (`dialogues.py`). Absent: who is asked.
"""
