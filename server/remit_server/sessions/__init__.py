"""Sessions on disk: one JSON Lines file each, written as things happen and replayed from (SES-01)."""
