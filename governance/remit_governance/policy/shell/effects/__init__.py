"""The effects of well-known programs, by subcommand and option: looked up in rows, and judged by functions for the few
programs that a row cannot describe (CMD-05).
"""
