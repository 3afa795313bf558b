"""The workflow around calls: what moves a session from state to state, and what that is judged by (FLW-06)."""
