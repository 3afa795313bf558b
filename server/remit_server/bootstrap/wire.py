"""What the bootstrap and the server say to each other (CLI-12)."""

SOCKET = "REMIT_BOOTSTRAP_SOCKET"
"""Names the socket at which the server answers."""
INSIDE = "/run/remit-bootstrap"
"""Where a server that runs in a container has it."""
PING, PONG, BYE = b"ping\n", b"pong\n", b"bye\n"
