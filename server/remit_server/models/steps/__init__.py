"""A whole step as one JSON value, for engines that decode by a schema, served ones and small ones here (MOD-12).

A step in one request (`held.py`): its schema (`schema.py`), how the conversation is spelled and the step is read, and
what is told, with examples (`telling.py`). Absent: who is asked.
"""
