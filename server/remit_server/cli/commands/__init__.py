"""The commands of the command line, one thin file each, which is imported when it is used.

`turns/` has those that run turns, `governance/` those about policy and the audit log, `models_and_tools/` those about
what the agent works with, `servers/` those that serve others, and `setup/` those that set Remit up and check it.
"""
