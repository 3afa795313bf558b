"""Says what runs next, for everything of the server that has to wait for its turn (SCH-01)."""
