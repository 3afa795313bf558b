"""The fast way: a call asks a process that stays, within a limit of time."""
