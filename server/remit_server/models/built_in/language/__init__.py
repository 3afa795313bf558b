"""What a sentence says: its words, its phrases, its files, and whether it is a wish (MOD-23). Pure."""
