"""The files that the editor has open, as it reports them, and where they lie."""
