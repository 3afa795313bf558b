"""The judgement on one call: its actions, what no sandbox holds back, and the ruling on all of it."""
