"""Remit's governance for the agent that somebody already uses: `remit hook AGENT` (HOK-01).

`hooks/formats/`: `agents.py` is the table of agents and `tool_rows.py` that of their tools; `events.py` parses what an
agent hands over, and `answers.py` spells the ruling in the agent's format. `hooks/judging/`: `actions.py` turns a call
into actions, `exposed.py` finds what a sandbox would have prevented, `deciding.py` judges the call. `exposed.py` asks
`searches.py` which folders a search goes through, `git_content.py` whose content git shows, `told.py` what prints the
environment or settings, `variables.py` which variables a line shows, `globs.py` what a word with wildcards may mean,
and `git_settings.py` whether git's settings hold a secret. `hooks/records/`: `record.py` audits,
`kept_sessions.py` keeps what is known of a session, `report.py` reads what was asked about most.
`door.py` puts them together: one event in, one reply out, a deny if anything fails. `settings_file.py`, on
`json_places.py`, edits an agent's own settings. `hooks/resident/` is the fast way: `client.py` asks the resident
process, which is `resident.py`.
"""
