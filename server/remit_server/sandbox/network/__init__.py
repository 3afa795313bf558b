"""The one way out of a sandbox: a proxy to listed hosts.

`doors.py` says at which ports of its own loopback a command finds somebody; `relay.py` makes their sockets inside, and
`proxy_socket.py` or, in a container, `mounted_socket.py` takes them out. `proxy.py` serves on them, and says what may
be connected to; `sandbox_peer.py` says who of the sandbox connects, `client_hello.py` whether a tunnel begins as TLS
for its host.
"""
