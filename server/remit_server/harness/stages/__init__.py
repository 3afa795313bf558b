"""The stages of a call in their order, with the function of each, and those of reviews and of a command's changes.

stage      | a call        | the review of collected edits | what a command changed
-----------|---------------|-------------------------------|-----------------------
gate       | admit         |                               |
parse      | parse         |                               |
state      | check_state   |                               |
resolve    | resolve       |                               | find_changes
judge      | judge         | judge                         | judge_each
prepare    | prepare       | prepare                       | classify_changes
collect    | collect       |                               |
commit     | review_commit |                               |
approve    | approve       | approve                       | ask_by_file
authorise  | authorise     | authorise                     | permitted
execute    | execute       | execute                       |
merge      | merge         | merge                         | write_judged
record     | finish        | finish                        | record_merge

`dispatcher.Dispatcher` runs the first two columns, `command_changes.merge_command` the third.
"""
