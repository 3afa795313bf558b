"""What starts the server and keeps it up, of the standard library alone (CLI-11 to CLI-13)."""
