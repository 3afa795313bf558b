"""What a generation says, read as text, thinking and calls."""
