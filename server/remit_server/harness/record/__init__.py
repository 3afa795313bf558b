"""Makes the call record: audit records, events and trace. Decides nothing."""
