"""The loop: model, intent, calls, results, until a step calls nothing (AGT-01). It can only call the dispatcher.

The loop (`loop.py`), when it goes round in circles (`loops.py`), what is checked before it ends (`exit_check.py`), the
steps that rules take before a very small model is asked (`by_rule.py`), the system prompt (`prompt.py`) and the files a
step may name (`offer.py`).
"""
