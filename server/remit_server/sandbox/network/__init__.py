"""The one way out of a sandbox: a proxy to listed hosts."""
