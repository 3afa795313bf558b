"""Help while a policy file is edited: what is wrong, what may stand at a place, and what it means (POL-14).

Pure: functions take a text and an offset into it and return values. They accept any text, also one that is half typed.

Absent: another grammar than the forms of `language/policy_form.py`.
"""
