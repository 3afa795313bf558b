"""Policy files: from their text to compiled rules.

`document.py` reads YAML with places. `parse_form.py` turns it into the forms of `policy_form.py` and `action_form.py`,
and says in words what is wrong. `compile.py` makes a policy of the forms, `besides_rules.py` handles what they say
besides rules, and `rule_warnings.py` finds rules that can do nothing. `load.py` reads files from disk.
"""
