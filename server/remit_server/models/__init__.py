"""Model providers behind one port: local MLX models, the embedded one, and scripts and recordings for tests."""
