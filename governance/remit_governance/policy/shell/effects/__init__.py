"""What well-known programs do, by subcommand and option: tables, and the few programs that a table cannot hold
(CMD-05).
"""
