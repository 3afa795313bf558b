"""A chat as every transport offers it: commands, what a message can mention, a person's own prompts (CLI-05)."""
