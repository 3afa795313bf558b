"""The commands of the command line, one thin file each."""
