"""The LSP features. Each file handles one method or one subject: it converts the params, calls, converts the result."""
