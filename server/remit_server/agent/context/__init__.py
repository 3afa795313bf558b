"""What part of a conversation is sent to the model: its budget, condensing, and what condensing keeps (AGT-09)."""
