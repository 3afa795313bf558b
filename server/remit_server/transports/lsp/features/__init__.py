"""One thin file for each LSP feature: convert in, call, convert out."""
