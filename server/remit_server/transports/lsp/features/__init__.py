"""The LSP features, one thin file each: convert in, call, convert out."""
