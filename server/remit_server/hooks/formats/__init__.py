"""What each agent says and how it wants an answer: its events and tools come in, a ruling goes out in its format."""
