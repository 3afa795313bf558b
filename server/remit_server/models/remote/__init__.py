"""Models that another program serves, on this machine or elsewhere; only where the person chose one (MOD-11).

How such a model is named, and how each engine is held (`engines.py`), a step in two requests (`two_requests.py`), the
clients of the protocols (`models/remote/clients/`), time limits and retries (`patience.py`), keys (`keys.py`), calls
and thinking that came as text (`leaked.py`), and the one way to a server: its headers and how much it may say
(`http_exit.py`).
"""
