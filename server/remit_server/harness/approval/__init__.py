"""Proposals and questions: what a person is asked about, how it is shown, and how the answer is bound to it."""
