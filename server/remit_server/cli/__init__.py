"""The command line: one thin file per command, `main.COMMANDS` lists them."""
