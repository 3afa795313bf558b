"""Which models this machine has and may reach: looked for when the person asks, and nowhere but here (MOD-26).

Which models can be chosen: those on disk, those that servers on the loopback list (the table `USUAL` in `served.py`),
and services with a key. Absent: any look that nobody asked for, any other address.
"""
