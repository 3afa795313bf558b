"""The sample workspace that `remit demo` copies and works in, and the demo's script."""
