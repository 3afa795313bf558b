"""A port of this machine alone, for the transports that speak HTTP (TRN-06, TRN-20).

`guard.py` stands before everything, `serving.py` listens, keeps the token and runs the server. Absent: what is served.
"""
