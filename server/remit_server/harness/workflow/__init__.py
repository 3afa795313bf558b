"""The workflow around calls: moves a session from state to state, and judges the facts that allow it (FLW-06)."""
