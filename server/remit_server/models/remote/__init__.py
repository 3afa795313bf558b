"""Models that another program serves, on this machine or elsewhere; used only if the person chose one (MOD-11).

How such a model is named, and how each engine is held (`engines.py`), a step in two requests (`two_requests.py`), the
clients of the protocols (`models/remote/clients/`), time limits and retries (`patience.py`), keys (`keys.py`), calls
and thinking that came as text (`leaked.py`), and the only way to a server, with its headers and the limits of its
answers (`http_exit.py`).
"""
