"""The one way out of a sandbox: a proxy to listed hosts.

`doors.py` lists the ports of its own loopback at which a command finds the proxy or another process; `relay.py` makes
their sockets inside, and `proxy_socket.py` or, in a container, `mounted_socket.py` hands them to the server. `proxy.py`
serves on them and decides what may be connected to; `sandbox_peer.py` finds the process of the sandbox that connects;
`client_hello.py` checks that a tunnel begins as TLS for its host.
"""
