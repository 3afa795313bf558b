"""What the code tools share: whom they ask, and how an answer is shown."""
