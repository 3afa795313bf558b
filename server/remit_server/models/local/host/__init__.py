"""The model process: one model, generating under a grammar of intents (MOD-02).

Runs as `python -m remit_server.models.local.host`; the server speaks to it through `remit_server.models.local.wire`.

Only `mlx_backend.py`, `decoding.py` and `token_caches.py` use MLX. `engine.py` decides by `scheduling/` which
generation runs next, and `caches.py` which cache a prompt starts from. In plain text, a row in `decoding.py` lets the
model read the chosen token before its value is known here; if a grammar may force tokens, the row waits for them. In
`grammar/`, a schema is written out (`json_schema.py`), bounded (`schemas.py`) and made a grammar (`step_grammar.py`,
and `arguments.py` for the arguments in a dialect); `json_closer.py` ends a JSON answer within its tokens; `guide.py`
tracks the output, and checks a value that no grammar held. `model_adapter.py` decides how a model is asked, held and
read; the table `FILL_IN` in `prompts.py` has the spellings of a gap in a document. In `output/`, `output_reader.py`
separates thinking from the answer, and `native.py` and `harmony.py` read calls.
"""
