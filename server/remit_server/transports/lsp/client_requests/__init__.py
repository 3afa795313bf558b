"""What the server asks of its client, or shows there: questions, progress, edits, what it knows of code."""
