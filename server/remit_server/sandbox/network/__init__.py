"""The one way out of a sandbox: a proxy to listed hosts.

The only way out: `proxy.py`, which serves on a socket that `relay.py` makes inside and `proxy_socket.py` takes out;
`sandbox_peer.py` says who of the sandbox connects, `addresses.py` what it may connect to, `client_hello.py` whether a
tunnel begins as TLS for its host.
"""
