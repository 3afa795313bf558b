"""The policy in force while the server runs, and changes of it."""
