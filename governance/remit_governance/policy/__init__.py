"""The policy engine: default deny, deny terminal, the same decision in any order (003 §Security Policy Module).

`load` reads files; everything else is pure. The way through: sources → `compile` → `Policy` → `evaluate` → `Decision`.
"""
