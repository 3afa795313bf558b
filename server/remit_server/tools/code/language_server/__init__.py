"""What the code tools share: who answers a question, and how an answer is shown."""
