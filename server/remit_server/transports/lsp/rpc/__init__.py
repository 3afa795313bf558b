"""JSON-RPC over one connection: frames, threads, the shapes of messages, the custom methods, errors."""
