"""What is known of programs: rows of `policy/programs/*.yaml`, and those that a person or a project adds (CMD-08)."""
