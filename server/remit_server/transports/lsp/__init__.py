"""The language server: the only package that knows pygls and lsprotocol."""
