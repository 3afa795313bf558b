"""What is the person's own: where it is kept, which folders count, their skills, plugins, servers and tools."""
