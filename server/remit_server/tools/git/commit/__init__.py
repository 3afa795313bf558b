"""What `git_commit` has to know before anything is written: the repository, what is selected, and the bytes git would
store (GIT-02). Nothing here writes or starts a program.
"""
