"""Where commands run: behind one small port, refused where nothing isolates (003 §Container Manager Module)."""
