"""Models of the Hugging Face hub: names, the local cache, and the one command that downloads (MOD-07)."""
