"""The test-first workflow: states, what leads from one to the next, what each opens, and what proves a failing test."""
