"""What of a conversation is sent: budget, condensing, and what survives it (AGT-09)."""
