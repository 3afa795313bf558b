"""Policy files while they are written: what is wrong, what may stand here, what it means (POL-14).

Pure: a text and an offset into it in, values out. It has to bear any text, most of all one that is half typed.

Absent: another grammar than the forms of
`language/policy_form.py`.
"""
