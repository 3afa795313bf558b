"""Sessions and turns: idempotency, time-outs, cancellation; transport-free (AGT-06).

Turns and time-outs (`runtime.py`), what a session holds between turns (`open_sessions.py`); `opening.py` puts all parts
together; `settings.py` is what a server was started with, from the typed model of `runtime/config/` (`form.py`), the
layers of its files (`layers.py`; `editing.py` helps editors with them), of which an editor may set some
(`editor.py`); `live_settings.py` reads them again when they change, which `own_file_watcher.py` notices; `places.py`
says where what is kept, and `folder_record.py` which folder that is for and whether what it brings counts;
`attachments.py` reads what goes with a message; `chosen_models.py` has the models that sessions switched to;
`log_file.py` is the log as a file, `connecting.py` tries a model and keeps it, `own_file_writer.py` replaces one of
the person's own files, `completing.py` completes at the cursor and answers by itself, `outcome.py` says what a turn
came to or why one is not run, `ended_calls.py` how a call ended. `runtime/policy/` replaces policy and permissions
while it runs and adds a rule to the person's file (`live_policy.py`); `audit_service.py` is the log as commands and
editors ask for it, and `told_call.py` one call of it; `turn_streams.py` has turns followed from any event on, and
`streamed_client.py` runs them for one client by messages. Absent: any transport.
"""
