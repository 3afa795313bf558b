"""The options of programs that develop, publish and deploy, written as `option_table` explains."""

DEVELOPMENT = """\
git [aliases]: -C= -c= --exec-path[=] --git-dir= --work-tree= --namespace= --super-prefix= --config-env=
    --attr-source= --list-cmds= -p|--paginate -P|--no-pager --no-replace-objects --no-lazy-fetch --no-optional-locks
    --no-advice --bare --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs --html-path
    --man-path --info-path -v|--version -h|--help
git push [refspecs]: -v|--verbose -q|--quiet --repo= --all|--branches --mirror -d|--delete --tags -n|--dry-run
    --porcelain -f|--force --force-with-lease[=] --force-if-includes --recurse-submodules= --thin --no-thin
    --receive-pack|--exec= -u|--set-upstream --progress --prune --no-verify --follow-tags --signed[=] --atomic
    -o|--push-option= -4|--ipv4 -6|--ipv6
git commit: -q|--quiet -v|--verbose -F|--file= --author= --date= -m|--message= -c|--reedit-message=
    -C|--reuse-message= --fixup= --squash= --reset-author --trailer= -s|--signoff -t|--template= -e|--edit --no-edit
    --cleanup= -S[=] --gpg-sign[=] -a|--all -i|--include --interactive -p|--patch -o|--only -n|--no-verify --dry-run
    --short --branch --porcelain --long -z|--null --amend --no-post-rewrite -u[=] --untracked-files[=]
    --pathspec-from-file= --allow-empty --allow-empty-message
git reset: -q|--quiet --mixed --soft --hard --merge --keep --recurse-submodules[=] -p|--patch -N|--intent-to-add
    --pathspec-from-file= --pathspec-file-nul --no-refresh --refresh
git clean: -q|--quiet -n|--dry-run -f|--force -i|--interactive -d -e|--exclude= -x -X
git checkout: -b= -B= -l --guess --no-guess --overlay --no-overlay -q|--quiet --recurse-submodules[=] --progress
    -m|--merge --conflict= -d|--detach -t --track[=] --no-track -f|--force --orphan= --ignore-other-worktrees
    -2|--ours -3|--theirs -p|--patch --pathspec-from-file= --pathspec-file-nul
git switch: -c|--create= -C|--force-create= -d|--detach -f|--force|--discard-changes -m|--merge --conflict= -q|--quiet
    --progress -t --track[=] --no-track --orphan= --guess --no-guess --ignore-other-worktrees --recurse-submodules[=]
git restore: -s|--source= -S|--staged -W|--worktree -p|--patch -q|--quiet --progress -m|--merge --conflict= -2|--ours
    -3|--theirs --ignore-unmerged --overlay --no-overlay --pathspec-from-file= --pathspec-file-nul
    --recurse-submodules[=]
git branch: -v|--verbose -q|--quiet -t --track[=] -u|--set-upstream-to= --unset-upstream --color[=] -r|--remotes
    --contains= --no-contains= --abbrev[=] -a|--all -d|--delete -D>--delete>--force -m|--move -M>--move>--force
    -c|--copy -C>--copy>--force -l|--list --show-current --create-reflog --edit-description -f|--force --merged=
    --no-merged= --column[=] --sort= --points-at= -i|--ignore-case --format=
git tag [refspecs]: -l|--list -n[=] -d|--delete -v|--verify -a|--annotate -m|--message= -F|--file= -e|--edit -s|--sign
    --cleanup= -u|--local-user= -f|--force --create-reflog --column[=] --contains= --no-contains= --merged=
    --no-merged= --sort= --points-at= --format= --color[=] -i|--ignore-case
git rm: -n|--dry-run -q|--quiet --cached -f|--force -r --ignore-unmatch --sparse --pathspec-from-file=
    --pathspec-file-nul
git mv: -v|--verbose -n|--dry-run -f|--force -k --sparse
git add: -n|--dry-run -v|--verbose -i|--interactive -p|--patch -e|--edit -f|--force -u|--update --renormalize
    -N|--intent-to-add -A|--all|--no-ignore-removal --ignore-removal|--no-all --refresh --ignore-errors
    --ignore-missing --sparse --chmod= --pathspec-from-file= --pathspec-file-nul
git stage -> git add
git fetch|pull: -v|--verbose -q|--quiet --all --set-upstream -a|--append --atomic --upload-pack= -f|--force
    -m|--multiple -t|--tags -n --no-tags -j|--jobs= --prefetch -p|--prune -P|--prune-tags --recurse-submodules[=]
    --dry-run -k|--keep -u|--update-head-ok --progress --depth= --shallow-since= --shallow-exclude= --deepen=
    --unshallow --refetch --refmap= -o|--server-option= -4|--ipv4 -6|--ipv6 --negotiation-tip= --filter= -r
    --rebase[=] --ff-only --ff --no-ff --squash -s|--strategy= -X|--strategy-option= -S[=] --gpg-sign[=] --no-rebase
    --autostash --no-edit -e|--edit --no-commit --commit
git merge: -n --stat --no-stat --summary --log[=] --squash --commit --no-commit -e|--edit --no-edit --cleanup= --ff
    --no-ff --ff-only -s|--strategy= -X|--strategy-option= -m|--message= -F|--file= -v|--verbose -q|--quiet --abort
    --quit --continue --allow-unrelated-histories --autostash -S[=] --gpg-sign[=] --no-verify --signoff --into-name=
git rebase: --onto= --keep-base -q|--quiet -v|--verbose -n|--no-stat --signoff -f|--force-rebase|--no-ff --ignore-date
    -C= --whitespace= --continue --skip --abort --quit --edit-todo --show-current-patch --apply -m|--merge
    -i|--interactive -r[=] --rebase-merges[=] --autosquash --no-autosquash --autostash -x|--exec= -s|--strategy=
    -X|--strategy-option= --root -S[=] --gpg-sign[=] --empty= --reapply-cherry-picks --update-refs --no-verify
git stash push|save: -p|--patch -S|--staged -k|--keep-index -q|--quiet -u|--include-untracked -a|--all -m|--message=
    --pathspec-from-file= --pathspec-file-nul
git stash drop|clear|pop|apply|list|show|branch|create|store: -q|--quiet --index -m|--message= -p -u
git stash: -p|--patch -S|--staged -k|--keep-index -q|--quiet -u|--include-untracked -a|--all -m|--message=
git remote add: -t= -m= -f --tags --no-tags --mirror[=]
git remote rm -> git remote remove
git remote remove|rename|set-url|prune|show|get-url|set-head|set-branches|update: --push --add --delete -n|--dry-run
    -p -a -d --all
git remote: -v|--verbose
git worktree add|list|remove|prune|move|lock|unlock|repair: -f|--force -b= -B= -d|--detach --checkout --no-checkout
    --lock --reason= -q|--quiet -v|--verbose --porcelain -n|--dry-run --expire=
git reflog expire|delete|show|exists: --expire= --expire-unreachable= --all --rewrite --updateref --stale-fix
    -n|--dry-run --verbose
git submodule add|init|update|deinit|foreach|sync|status|summary|set-url|set-branch: -b|--branch= -f|--force --all
    --name= --reference= --depth= --init --recursive -q|--quiet
git config [stop]: --global --system --local --worktree -f|--file= --blob= --get --get-all --get-regexp --add --unset
    --unset-all --replace-all --remove-section --rename-section -l|--list -e|--edit --type= -z|--null
git gc|prune|repack: --prune[=] --aggressive --auto -q|--quiet --force --expire= -n|--dry-run -v|--verbose -a -A -d -f
git update-ref: -m= -d -z --stdin --no-deref --create-reflog
git filter-branch: -f|--force -d= --setup= --subdirectory-filter= --env-filter= --tree-filter= --index-filter=
    --parent-filter= --msg-filter= --commit-filter= --tag-name-filter= --prune-empty --original=
git clone: -b|--branch= -o|--origin= -u|--upload-pack= --depth= --reference= -c|--config= -j|--jobs= --template=
    --filter= -l|--local -n|--no-checkout --bare --mirror -q|--quiet -v|--verbose --recurse-submodules[=]
    --separate-git-dir= --shallow-since= --single-branch --progress -s|--shared --no-hardlinks --no-tags --sparse
    --server-option=
git status|log|diff|show|blame|grep|revert|cherry-pick|am|apply|archive|bisect|bundle|describe|format-patch|fsck|init:
git ls-files|ls-remote|ls-tree|rev-parse|rev-list|shortlog|cat-file|send-email|send-pack|notes|replace|maintenance:
git mergetool:
git difftool|help|version|show-ref|symbolic-ref|for-each-ref|merge-base|name-rev|check-ignore|sparse-checkout:
git range-diff:
git svn|lfs|subtree|flow|p4|daemon|http-backend|update-index|read-tree|write-tree|commit-tree|hash-object|credential:
npm [anywhere cut]: -C|--prefix= -w|--workspace= -ws|--workspaces -iwr|--include-workspace-root -s|--silent -q|--quiet
    -d -dd -ddd --verbose -g|--global -f|--force -y|--yes -n|--no --loglevel= --registry= --reg= --tag= --access=
    --otp= --userconfig= --globalconfig= --cache= --scope= --omit= --include= --only= --production -D|--save-dev
    -S|--save -P|--save-prod -O|--save-optional -E|--save-exact -B|--save-bundle --no-save -c|--call= --package=
    -m|--message= --script-shell= --node-options= --dry-run --ignore-scripts --if-present -L|--location= --provenance
    --json -l|--long -p|--parseable --depth= --shell= --editor= --proxy= --https-proxy= --noproxy= --ca= --cafile=
    --cert= --key= --user-agent= --pack-destination= --preid= --auth-type= --audit --no-audit --fund --no-fund
    --no-color --legacy-peer-deps --offline --prefer-offline --prefer-online --unicode --progress
    --no-progress --timing --usage -h -v|--version --package-lock-only --no-package-lock --workspaces-update --git=
    --tag-version-prefix= --viewer= --before= --audit-level=  --cidr= --cpu= --os= --libc= --diff=
    --engine-strict --install-strategy= --sbom-format=
npm publish|unpublish|deprecate|owner|access|token|login|logout|adduser|whoami|dist-tag|star|team|org|profile|hook:
npm pack:
npm install|ci|update|uninstall|rebuild|link|dedupe|prune|audit|outdated|ls|exec|run|test|start|stop|restart|version:
npm view|search|config|get|set|init|cache|doctor|root|prefix|bin|help|explain|explore|fund|bugs|docs|repo|ping|pkg:
npm query:
npm install-test|install-ci-test|shrinkwrap|sbom|diff|edit|completion|find-dupes|unstar|stars|trust|undeprecate:
npm i|in|ins|inst|insta|instal|isnt|isnta|isntal|isntall|add -> npm install
npm un|unlink|remove|rm|r -> npm uninstall
npm up|upgrade|udpate -> npm update
npm run-script|rum|urn -> npm run
npm x -> npm exec
npm t|tst -> npm test
npm clean-install|ic|install-clean|isntall-clean -> npm ci
npm add-user -> npm adduser
npm author -> npm owner
npm dist-tags -> npm dist-tag
npm create|innit -> npm init
npm c -> npm config
npm ln -> npm link
npm rb -> npm rebuild
npm ddp -> npm dedupe
npm it -> npm install-test
npm cit|clean-install-test|sit -> npm install-ci-test
npm list|la|ll -> npm ls
npm v|info|show -> npm view
npm s|se|find -> npm search
npm ogr -> npm org
npx [stop]: -p|--package= -c|--call= -y|--yes --no -q|--quiet -w|--workspace= --prefix=
npx -> npm exec
pnpm [anywhere]: -C|--dir= -r|--recursive -F|--filter= --filter-prod= -w|--workspace-root -s|--silent --loglevel=
    --reporter= --registry= --tag= --access= --otp= --publish-branch= --no-git-checks --dry-run --force -f
    -D|--save-dev -P|--save-prod -O|--save-optional -E|--save-exact -g|--global --color --no-color --stream
    --aggregate-output --use-stderr --store-dir= --virtual-store-dir= --config= --json --lockfile-dir=
    --workspace-concurrency= --if-present
pnpm publish|install|add|remove|update|run|exec|dlx|test|start|link|unlink|import|rebuild|prune|fetch|patch|audit:
pnpm list|why:
pnpm outdated|store|server|init|create|deploy|pack|root|bin|config|env|setup|login|logout|owner|unpublish|deprecate:
pnpm dist-tag:
pnpm i -> pnpm install
pnpm rm|uninstall|un -> pnpm remove
pnpm up|upgrade -> pnpm update
pnpm t -> pnpm test
pnpx -> pnpm dlx
yarn [anywhere]: --cwd= -s|--silent --registry= --tag= --access= --otp= --new-version= --verbose --json
    --modules-folder= --cache-folder= --mutex= --use-yarnrc= --global-folder= --network-timeout= --prefer-offline
    --offline --frozen-lockfile -D|--dev -P|--peer -O|--optional -E|--exact -W|--ignore-workspace-root-check -f|--flat
    --force --non-interactive --no-progress --production[=] --ignore-scripts --https-proxy= --proxy= --link-folder=
    --no-lockfile
yarn publish|install|add|remove|upgrade|run|exec|dlx|test|start|link|unlink|npm|workspace|workspaces|global|pack:
yarn version:
yarn npm publish|login|logout|tag|info|audit|whoami: --tag= --access= --otp= --tolerate-republish
yarn up -> yarn upgrade
yarnpkg -> yarn
cargo [anywhere aliases plus]: --color= --config= -Z= -C= --manifest-path= --target-dir= -p|--package= --features|-F=
    --target= --profile= -j|--jobs= --registry= --index= --token= --message-format= --bin= --example= --test= --bench=
    --exclude= --lockfile-path= -q|--quiet -v|--verbose --frozen --locked --offline --release -r --all-features
    --no-default-features --workspace --all --lib --bins --tests --examples --benches --all-targets --dry-run -n
    --allow-dirty --no-verify --version|--vers= --git= --branch= --tag= --rev= --path= --root= --keep-going -f|--force
    --list -V
cargo build|check|test|run|clean|doc|new|init|add|remove|bench|update|search|publish|install|uninstall|yank|owner:
cargo login:
cargo logout|package|fetch|fix|fmt|clippy|metadata|tree|vendor|report|locate-project|generate-lockfile|pkgid|rustc:
cargo rustdoc:
cargo verify-project|version|help|config|info|nextest|audit|deny|miri|expand|watch|outdated:
cargo b -> cargo build
cargo c -> cargo check
cargo d -> cargo doc
cargo t -> cargo test
cargo r -> cargo run
cargo rm -> cargo remove
pip [anywhere]: -h|--help --debug --isolated --require-virtualenv --python= -v|--verbose -V|--version -q|--quiet
    --log= --no-input --keyring-provider= --proxy= --retries= --timeout|--default-timeout= --exists-action=
    --trusted-host= --cert= --client-cert= --cache-dir= --no-cache-dir --disable-pip-version-check --no-color
    --use-feature= --use-deprecated= -r|--requirement= -c|--constraint= --no-deps --pre -e|--editable= --dry-run
    -t|--target= --platform= --python-version= --implementation= --abi= --user --root= --prefix= --src= -U|--upgrade
    --upgrade-strategy= --force-reinstall -I|--ignore-installed --no-build-isolation -C|--config-settings=
    --global-option= --no-binary= --only-binary= -i|--index-url= --extra-index-url= --no-index -f|--find-links=
    --require-hashes --report= -y|--yes --break-system-packages -d|--dest= -w|--wheel-dir= --root-user-action=
    --progress-bar=
pip install|uninstall|download|freeze|list|show|check|config|search|cache|index|wheel|hash|completion|debug|inspect:
pip help:
twine: -h|--help --version --no-color
twine upload|check|register: -r|--repository= --repository-url= -s|--sign --sign-with= -i|--identity= -u|--username=
    -p|--password= --non-interactive -c|--comment= --config-file= --skip-existing --cert= --client-cert= --verbose
    --disable-progress-bar --attestations --strict
uv [anywhere]: --directory= --project= --config-file= --cache-dir= -p|--python= --color= --index= --index-url|-i=
    -q|--quiet -v|--verbose --no-cache|-n --offline --token|-t= --publish-url= -u|--username= --password= --extra=
    --group= --package= --with= --env-file= -m|--module= -r|--requirements= --default-index= --extra-index-url=
uv publish|build|add|remove|sync|lock|init|run|tool|python|pip|venv|cache|self|tree|export|version:
uv pip install|uninstall|sync|compile|freeze|list|show|tree|check:
poetry [anywhere]: -C|--directory= -P|--project= -q|--quiet -n|--no-interaction -v -vv -vvv --no-ansi --ansi
    --no-plugins --no-cache -r|--repository= -u|--username= -p|--password= --cert= --client-cert= --build --dry-run
    --dist-dir=
poetry publish|build|add|remove|install|update|run|shell|lock|show|config|init|new|check|search|self|env|export:
poetry version:
gh [anywhere aliases]: -R|--repo= --hostname= -t|--title= -b|--body= -F|--body-file= -B|--base= -H|--head= -l|--label=
    -a|--assignee= -m|--milestone= -n|--notes= --notes-file= --target= -X|--method= -f|--raw-field= --field= --input=
    -q|--jq= --json= --template= -y|--yes --confirm -d|--delete-branch -s -r --admin --auto -c|--comment= --subject=
    --match-head-commit=
gh pr merge: -d|--delete-branch -m|--merge -r|--rebase -s|--squash -b|--body= -F|--body-file= -t|--subject=
    -A|--author-email= -R|--repo= --admin --auto --disable-auto --match-head-commit=
gh pr create|close|checkout|comment|edit|list|view|diff|ready|reopen|review|checks|status|lock|unlock:
gh pr update-branch:
gh release create|delete|edit|upload|download|list|view|delete-asset:
gh repo delete|create|fork|clone|rename|edit|archive|unarchive|list|view|sync|set-default|deploy-key:
gh issue create|close|delete|comment|edit|list|view|lock|unlock|reopen|transfer|pin|unpin|develop|status:
gh workflow|run|secret|variable|gist|auth|api|ssh-key|gpg-key|cache|codespace|label|org|project|ruleset|search:
gh extension:
gh alias|browse|completion|config|status|attestation|help|preview|version:
gh co -> gh pr checkout
gh pr new -> gh pr create
gh repo new -> gh repo create
gh issue new -> gh issue create
gh release new -> gh release create
docker|podman: --config= -c|--context= -D|--debug -H|--host= -l|--log-level= --tls --tlscacert= --tlscert= --tlskey=
    --tlsverify -v|--version --connection= --url= --identity= --root= --runroot= --runtime= --storage-driver=
    --storage-opt= --tmpdir= --cgroup-manager= --conmon= --events-backend= --hooks-dir= --namespace=
    --network-cmd-path= --network-config-dir= -r|--remote --ssh= --volumepath= --runtime-flag= --module= --out=
    --noout --syslog --imagestore=
docker|podman run|create [stop]: -a|--attach= --add-host= --annotation= --blkio-weight= --cap-add= --cap-drop=
    --cgroup-parent= --cgroupns= --cidfile= -c|--cpu-shares= --cpus= --cpuset-cpus= --cpuset-mems= -d|--detach
    --detach-keys= --device= --dns= --dns-option= --dns-search= --domainname= --entrypoint= -e|--env= --env-file=
    --expose= --gpus= --group-add= --health-cmd= --health-interval= --health-retries= --health-timeout= -h|--hostname=
    --init -i|--interactive --ip= --ip6= --ipc= --isolation= -l|--label= --label-file= --link= --log-driver=
    --log-opt= --mac-address= -m|--memory= --memory-reservation= --memory-swap= --mount= --name= --network|--net=
    --network-alias= --oom-score-adj= --pid= --pids-limit= --platform= --privileged -p|--publish= -P|--publish-all
    --pull= -q|--quiet --read-only --restart= --rm --runtime= --security-opt= --shm-size= --sig-proxy --stop-signal=
    --stop-timeout= --storage-opt= --sysctl= --tmpfs= -t|--tty --ulimit= -u|--user= --userns= --uts= -v|--volume=
    --volume-driver= --volumes-from= -w|--workdir= --pod= --secret= --arch= --os= --systemd= --tz=
docker|podman exec [stop]: -d|--detach --detach-keys= -e|--env= --env-file= -i|--interactive --privileged -t|--tty
    -u|--user= -w|--workdir=
docker|podman build: -t|--tag= -f|--file= --build-arg= --target= --platform= --network= --label= --cache-from=
    --cache-to= --secret= --ssh= --output|-o= --progress= --iidfile= --add-host= --build-context= --builder=
    -q|--quiet --no-cache --pull --push --load --rm --force-rm -m|--memory= --squash
docker|podman push|pull: -a|--all-tags --disable-content-trust -q|--quiet --platform= --authfile= --creds= --cert-dir=
    --tls-verify[=] --format= --digestfile= --sign-by= --compress
docker|podman
    rm|rmi|kill|stop|restart|pause|unpause|wait|start|commit|tag|save|load|import|export|cp|login|logout|logs:
    -f|--force -l|--link -v|--volumes -s|--signal= -t|--time|--timeout= -a|--author= -m|--message= -c|--change=
    -o|--output= -i|--input= -u|--username= -p|--password= --password-stdin -q|--quiet --no-prune -n|--tail= --since=
    --until= --follow
docker|podman
    ps|images|inspect|info|version|search|stats|top|port|diff|history|events|rename|update|attach|secret|config|pod:
    -a|--all
docker|podman manifest|trust|plugin|context|buildx|compose|swarm|stack|service|node|builder|checkpoint|machine|kube:
docker|podman play|network:
docker|podman volume rm|create|ls|inspect|prune|update: -f|--force -a|--all --filter= -d|--driver= --name= -o|--opt=
    --label=
docker|podman system prune|df|events|info|reset: -f|--force -a|--all --filter= --volumes
docker|podman image prune|ls|inspect|build|history: -f|--force -a|--all --filter=
docker|podman container prune|ls|inspect: -f|--force -a|--all --filter=
docker|podman network rm|create|ls|inspect|prune|connect|disconnect: -f|--force --filter= -d|--driver= --subnet=
    --gateway=
docker|podman compose: -f|--file= -p|--project-name= --profile= --env-file= --project-directory= --parallel= --ansi=
    --progress=
docker|podman compose
    up|down|build|push|pull|run|exec|rm|stop|kill|restart|logs|ps|config|create|start|images|top|cp|ls: -d|--detach
    -v|--volumes --rmi= -t|--timeout= --remove-orphans -f|--force -s|--stop -e|--env= -u|--user= --build -T
docker image push -> docker push
docker image pull -> docker pull
docker image rm|remove -> docker rmi
docker image tag -> docker tag
docker image save -> docker save
docker image load -> docker load
docker image import -> docker import
docker container rm|remove -> docker rm
docker container run -> docker run
docker container exec -> docker exec
docker container create -> docker create
docker container kill -> docker kill
docker container stop -> docker stop
docker container restart -> docker restart
docker container commit -> docker commit
docker container cp -> docker cp
docker buildx build|b -> docker build
docker builder build -> docker build
docker container ls|list|ps -> docker ps
docker image ls|list -> docker images
podman container ls|list|ps -> podman ps
podman image ls|list -> podman images
docker-compose -> docker compose
podman image push -> podman push
podman image pull -> podman pull
podman image rm|remove -> podman rmi
podman image tag -> podman tag
podman image save -> podman save
podman image load -> podman load
podman image import -> podman import
podman container rm|remove -> podman rm
podman container run -> podman run
podman container exec -> podman exec
podman container create -> podman create
podman container kill -> podman kill
podman container stop -> podman stop
podman container restart -> podman restart
podman container commit -> podman commit
podman container cp -> podman cp
podman-compose -> podman compose
kubectl|oc [anywhere]: -n|--namespace= --context= --cluster= --user= --kubeconfig= -s|--server= --token= --as=
    --as-group= --as-uid= --cache-dir= --certificate-authority= --client-certificate= --client-key= --request-timeout=
    --tls-server-name= -v|--v= --vmodule= --profile= --profile-output= --log-flush-frequency= --username= --password=
    --insecure-skip-tls-verify[=] -f|--filename= -k|--kustomize= -l|--selector= -o|--output= --field-selector=
    -A|--all-namespaces -R|--recursive --all --force --now --grace-period= --wait[=] --timeout= --cascade[=]
    --dry-run[=] --ignore-not-found -c|--container= -i|--stdin -t|--tty --replicas= --image= -p|--patch= --type=
    --prune --field-manager= --server-side --overwrite -L|--label-columns= --sort-by= -w
kubectl|oc get|describe|create|apply|delete|edit|replace|patch|scale|rollout|expose|run|set|explain|autoscale|logs:
kubectl|oc attach|exec:
kubectl|oc port-forward|proxy|cp|auth|debug|events|diff|kustomize|wait|label|annotate|completion|config|drain:
kubectl|oc cordon|uncordon:
kubectl|oc taint|top|cluster-info|api-resources|api-versions|version|plugin|certificate:
helm [anywhere]: -n|--namespace= --kube-context= --kubeconfig= --kube-apiserver= --kube-token= --registry-config=
    --repository-config= --repository-cache= --burst-limit= --debug -f|--values= --set= --set-string= --set-file=
    --version= --timeout= --wait --atomic --dry-run[=] --force --description= -i|--install --repo= --username=
    --password= --output|-o=
helm install|upgrade|uninstall|rollback|list|repo|pull|push|template|test|status|get|history|package|lint|search:
helm show|dependency:
helm create|plugin|registry|verify|env|version|completion:
helm del|delete|un -> helm uninstall
terraform|tofu: -chdir= -version -help
terraform|tofu
    apply|destroy|plan|init|import|state|taint|untaint|output|validate|fmt|refresh|show|workspace|console|get|graph:
    -auto-approve -target= -var= -var-file= -state= -lock= -lock-timeout= -parallelism= -input= -destroy -refresh-only
    -replace= -out= -no-color -backup= -backend-config= -reconfigure -upgrade
systemctl|loginctl|machinectl [anywhere]: -H|--host= -M|--machine= -t|--type= --state= -p|--property= -P= -a|--all
    -l|--full -r|--recursive --job-mode= -T --check-inhibitors= --kill-whom= -s|--signal= --what= --now --dry-run
    -q|--quiet --wait --no-block --no-wall --no-pager --no-ask-password --global --runtime -f|--force --preset-mode=
    --root= --image= -n|--lines= -o|--output= --user --system --legend= --timestamp= --message= --firmware-setup
    --plain -i
systemctl start|stop|restart|reload|try-restart|kill|enable|disable|reenable|mask|unmask|status|is-active:
systemctl is-enabled|is-failed:
systemctl list-units|list-unit-files|list-timers|show|cat|edit|daemon-reload|daemon-reexec|reset-failed|isolate:
systemctl set-property:
systemctl poweroff|reboot|halt|kexec|suspend|hibernate|hybrid-sleep|emergency|rescue|default|exit|link|revert:
systemctl preset|help:
apt|apt-get|aptitude [anywhere]: -y|--yes|--assume-yes -q|--quiet -o|--option= -c|--config-file= -t|--target-release=
    -f -m -u -d -s|--simulate|--dry-run --purge --allow-downgrades --no-install-recommends --reinstall --force-yes
    --autoremove
apt|apt-get|aptitude install|remove|purge|update|upgrade|full-upgrade|dist-upgrade|autoremove|source|download|clean:
apt|apt-get|aptitude search|show|list:
brew [anywhere]: -f|--force -v|--verbose -q|--quiet -d|--debug --cask --formula --zap -n|--dry-run
brew install|uninstall|upgrade|update|cleanup|services|link|unlink|tap|untap|reinstall|list|info|search|doctor|bundle:
brew rm|remove -> brew uninstall
brew ls -> brew list
"""
