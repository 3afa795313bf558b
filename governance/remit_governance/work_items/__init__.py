"""Work items: what a step may work on, from a file that only people write."""
