"""The policy engine: default deny, deny terminal, the same decision in any order (POL-02).

`load` reads files; everything else is pure. The way through: sources → `compile` → `Policy` → `evaluate` → `Decision`.
"""
