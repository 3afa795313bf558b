"""The policy engine: the default is deny, a deny is final, and the order of rules does not matter (POL-02).

`language/load.py` reads files; everything else is pure. The flow: sources → `compile_policy` → `Policy` → `evaluate` →
`Decision`. `rules.py` is a compiled policy; `default.yaml` is the packaged default policy. Absent: any access to the
disk while deciding.
"""
