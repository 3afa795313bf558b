"""The transports into the runtime: the language server and the gateway."""
