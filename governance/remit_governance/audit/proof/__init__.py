"""What vouches for a log: checkpoints and the signed head, the keys that sign them, and where they are kept."""
