"""Work that a turn hands to a sub-agent (AGT-16). `delegate.py` is the row of the tool that does so."""
