"""Model providers behind one port: local MLX models, the built-in one, and scripts and recordings for tests."""
