"""The one way out of a sandbox: a proxy to listed hosts.

`proxy.py` serves on a socket that `relay.py` makes inside and `proxy_socket.py` takes out, and says what may be
connected to; `sandbox_peer.py` says who of the sandbox connects, `client_hello.py` whether a tunnel begins as TLS for
its host.
"""
