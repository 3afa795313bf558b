"""What of the machine a command sees."""
