"""git's subcommands. Those that start programs by their arguments (`bisect run`, `difftool`) are not listed."""

from __future__ import annotations

from remit_governance.policy.shell.effects.program_row import Program

GIT = Program(
    reads="""
        $, --version, --help, help, version,
        annotate, blame, cat-file, check-attr, check-ignore, check-mailmap, check-ref-format, cherry, column,
        count-objects, describe, diff, diff-files, diff-index, diff-tree, for-each-ref, fsck, grep, hash-object, log,
        ls-files, ls-tree, merge-base, merge-tree, name-rev, patch-id, range-diff, rev-list, rev-parse, shortlog,
        show,
        show-branch, show-index, show-ref, status, stripspace, var, verify-commit, verify-pack, verify-tag,
        whatchanged,
        add|commit|mv|rm -n|--dry-run, apply --check|--stat|--numstat|--summary, archive, bisect log,
        branch $, branch -a|-r|-l|-v|-vv|--all|--remotes|--list|--verbose|--show-current|--format|--sort,
        branch --contains|--no-contains|--merged|--no-merged|--points-at, bundle verify|list-heads,
        clean -n|-nd|-dn|-nx|-nX|-ndx|-ndX|-nfd|-nfdx|--dry-run, config $, config ? $, config --global|--local ? $,
        config -l|--list $, config --get|--get-all|--get-regexp ? $,
        config --global|--local|--system --get|--get-all ? $, config --global|--local|--system -l|--list $,
        config --show-origin|--show-scope --get ? $, config --show-origin|--show-scope -l|--list $, config get ? $,
        config list $, format-patch --stdout,
        lfs ls-files|env|status, notes list|show, reflog, reflog show|exists|list, remote $, remote -v|--verbose,
        remote get-url, rerere diff|status, sparse-checkout list, stash list|show, submodule $, submodule
        status|summary,
        symbolic-ref ? $, symbolic-ref --short|-q ? $, tag $, tag -l|-n|-n1|-n2|-n3|-n5|-n9|--list|--sort|--points-at,
        tag --contains|--no-contains|--merged|--no-merged, worktree list""",
    asks="fetch, ls-remote, lfs fetch, push -n|--dry-run, remote show|update, request-pull",
    changes="""
        add, am, apply, apply --apply, bisect start|good|bad|new|old|skip|reset, branch, bundle create, checkout,
        cherry-pick, clone, commit, commit-graph, commit-tree, format-patch, gc, hash-object -w, init, lfs
        pull|checkout,
        maintenance run, merge, mktag, mktree, mv, notes add|append|copy, pack-refs, pull, rebase, remote prune,
        repack, rerere, reset,
        restore --staged|-S, revert, rm, sparse-checkout set|add|init|disable|reapply, stash,
        stash push|save|apply|pop|branch, submodule add|init|sync|update|absorbgitdirs, switch, tag, update-index,
        worktree add|prune|lock|unlock|move|remove|repair, write-tree""",
    loses="""
        branch -D|-f|-M|-C|--force, checkout -f|-B|--force|--ours|--theirs, checkout-index, clean, fetch -f|--force,
        filter-branch, filter-repo, gc --prune, notes remove|prune, prune, prune-packed, pull -f|--force, read-tree,
        reflog delete|expire, replace, reset --hard|--merge|--keep, restore, restore -W|--worktree, rm -f|--force,
        stash drop|clear, submodule deinit, submodule update -f|--force,
        switch -f|-C|--force|--discard-changes|--force-create, symbolic-ref -d|--delete, tag -d|-f|--delete|--force,
        update-ref, worktree add|remove -f|-B|--force""",
    fetches="""
        clone --recurse-submodules|--recursive, pull --recurse-submodules,
        submodule update --init|--remote|--recursive""",
    sends="http-push, imap-send, lfs push, push, send-email, send-pack",
    unknown="""
        --exec, --ext-diff, --open-files-in-pager, --receive-pack, --textconv, --upload-pack, archive --remote,
        clone -c|-u|--config|--template,
        config --unset|--unset-all|--add|--replace-all|--remove-section|--rename-section|-e|--edit, grep -O,
        init --template, merge -s|--strategy, rebase -x""",
    files="--output",
)
"""What each subcommand does. Files that `checkout` takes, and `restore`, are looked at in `judging`."""
