"""Models behind one small port: the local MLX process, and a scripted one for tests."""
