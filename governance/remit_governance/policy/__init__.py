"""The policy engine: default deny, deny terminal, the same decision in any order (POL-02).

`load` reads files; everything else is pure. The way through: sources → `compile` → `Policy` → `evaluate` → `Decision`.

`rules.py` is a compiled policy; `default.yaml` is the one for everybody. Absent: any look at the disk while deciding.
"""
