"""Records what a call leaves behind; decides nothing."""
