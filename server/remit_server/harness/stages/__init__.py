"""The stages of a call: the function that is each, in their order, and those for what has passed some before.

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

`dispatcher.Dispatcher` runs the first two, `command_changes.merge_command` the third.
"""
