"""What a generation may spell, as a grammar."""
