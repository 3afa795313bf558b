"""What is kept of another agent: its calls in the audit log, its session, and what was asked about most."""
