"""What `git_commit` determines before anything is written: the repository, the selected files, and the bytes that git
would store (GIT-02). Nothing here writes or starts a program.
"""
