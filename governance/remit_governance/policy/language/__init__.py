"""Policy files: from their text to compiled rules.

YAML to rules: text with places (`document.py`), the forms (`policy_form.py`, `action_form.py`, read by
`parse_form.py`), `compile.py`, files from disk (`load.py`), test files that a policy names (`own_tests.py`), what is
wrong in words (`wording.py`, `rule_warnings.py`), examples, units.
"""
