"""A port that only this machine can reach, for the transports that speak HTTP (TRN-06, TRN-20).

`guard.py` checks every request first, `serving.py` listens, keeps the token and runs the server. Absent: what is
served.
"""
