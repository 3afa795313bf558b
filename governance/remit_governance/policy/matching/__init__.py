"""What a rule matches: paths, commands, conditions."""
