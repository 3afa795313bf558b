"""Sessions and turns: idempotency, time-outs, cancellation; transport-free (AGT-06).

Turns and time-outs (`runtime.py`), what a session holds between turns (`session.py`); `opening.py` puts all parts
together; `settings.py` is what a server was started with, from the typed model of `runtime/config/` (`form.py`), its
files (`read.py`, and `editing.py` for editors) and their layers (`layers.py`), of which an editor may set some
(`editor.py`); `live_settings.py` reads them again when they change, which `own_file_watcher.py` notices; `shared.py`
is what a server's workspaces share; `places.py` says where what is kept, and `trust.py` whether what a folder brings
counts; `attachments.py` reads what goes with a message; `chosen_models.py` has the models that sessions switched to;
`log_file.py` is the log as a file, `connecting.py` tries a model and keeps it, `own_file_writer.py` replaces one of
the person's own files, `completing.py` completes at the cursor (`gap.py` says what of a document is shown and what of
an answer is offered, pure), `room.py` says whether memory and disk have room for a turn, `outcome.py` says what a
turn came to, `run_errors.py` why one is not run, `ended_calls.py` how a call ended, `workspace_record.py` keeps the
id of a workspace's folder. `runtime/policy/` replaces policy and permissions while it runs and adds a
rule to the person's file (`live_policy.py`); `runtime/audit/` is the log as commands and editors ask for
it. Absent: any transport.
"""
