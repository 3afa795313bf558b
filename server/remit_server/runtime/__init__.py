"""Sessions and turns: idempotency, time-outs, cancellation; transport-free (AGT-06).

`runtime.py` has turns and time-outs, and `opening.py` puts all parts together. `settings.py` is what a server was
started with, made of the typed model of `runtime/config/` (`form.py`) and the layers of its files (`layers.py`);
`editing.py` helps editors with these files, and `editor.py` reads the settings that an editor may set.
`live_settings.py` reads the settings again when `own_file_watcher.py` notices a change. `chosen_models.py` has the
models that sessions switched to, `connecting.py` tries a model and keeps it, `completing.py` completes at the cursor
and answers without a turn, and `log_file.py` writes the log file.

`runtime/turns/`: `open_sessions.py` is what a session holds between turns, and `attachments.py` reads what goes with a
message; `turn_runner.py` runs a turn, `turn_streams.py` lets it be followed from any event on, and `taken_up.py` takes
it up after a crash; `streamed_client.py` runs turns for one client by messages; `outcome.py` says how a turn ended or
why one is not run, `ended_calls.py` how a call ended. `runtime/own_files/`: `places.py` has the folders where things
are kept; `folder_record.py` says which folder a workspace is, and whether what it brings counts; `own_file_writer.py`
replaces one of the person's own files. `runtime/audit/`: `audit_service.py` is the audit log for commands and editors,
and `told_call.py` describes one call of it. `runtime/policy/` replaces policy and permissions while the server runs,
and adds a rule to the person's file (`live_policy.py`). Absent: any transport.
"""
