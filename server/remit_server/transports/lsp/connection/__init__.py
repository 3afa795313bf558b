"""What is known of one connection: its client, its workspace folders, its waiting questions.

`connection.py` has the state that features see: the `Connection`, or a frozen `Snapshot` for features that only read.
`client.py` parses what the client can do, `folders.py` has the workspace folders, each with its own runtime, and
`open_folders.py` opens them and watches their policy and configuration; `reviews.py` has the waiting questions.
"""
