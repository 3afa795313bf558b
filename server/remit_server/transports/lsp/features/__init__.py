"""The LSP features, thin files of one method or of those of one subject: convert in, call, convert out."""
