"""The agent loop: model, intent, calls, results, until a step calls nothing (AGT-01). It can only call the dispatcher.

`loop.py` is the loop, `loops.py` notices when the model repeats itself, `exit_check.py` checks for new errors before a
turn ends, `by_rule.py` takes the steps that rules know before a very small model is asked, `prompt.py` holds the system
prompt, `offer.py` lists the files that a step may name, and `said.py` shows what the model says.
"""
