"""What a command may use of the machine."""
