"""Rules that take a sentence: whole phrases, single words, and a name with a value (MOD-23). Pure."""
