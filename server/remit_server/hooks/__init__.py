"""Remit's governance for the agent that somebody already uses: `remit hook AGENT` (HOK-01).

`agents.py` is the table of agents and `tool_rows.py` that of their tools; `events.py` parses what an agent hands over,
`actions.py` turns a call into actions, `exposed.py` finds what a sandbox would have prevented, `deciding.py` judges the
call, `answers.py` spells the ruling in the agent's format. `record.py` audits, `kept_sessions.py` keeps what is known
of a session, and `door.py` puts them together: one event in, one reply out, a deny if anything fails.
`settings_file.py`, on `json_places.py`, edits an agent's own settings; `report.py` reads what was asked about most.
`client.py` and `resident.py` are the fast way: `client.py` asks a resident process.
"""
