"""A whole step as one JSON value, for engines that decode by a schema: served models, and small local ones (MOD-12).

`held.py` makes the request, spells the conversation and reads the step; `schema.py` has the step's schema, `telling.py`
what the model is told, with examples. Nothing here knows which model is asked.
"""
