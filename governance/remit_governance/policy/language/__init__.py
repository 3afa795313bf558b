"""Policy files: from their text to compiled rules.

YAML to rules: text with places (`document.py`), the forms (`policy_form.py`, `action_form.py`, read, and told what is
wrong in words, by `parse_form.py`), `compile.py`, files from disk (`load.py`), what a policy says besides rules
(`besides_rules.py`), rules that can do nothing (`rule_warnings.py`).
"""
