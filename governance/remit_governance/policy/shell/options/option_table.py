"""The options of well-known programs: which of them take a value, and which mean the same (CMD-03).

One line for a program or a subcommand, continued where it is indented: its words, its marks in brackets, a colon, its
options. `-f|--force` is one option with two names. `=` behind it: a value follows, in the same word or the next;
    `[=]`:
in the same word, or none. `-D>--delete>--force` is these two, `--delete-after<--delete` one more way to say that.
`if=`
is a word that begins so, as in `dd if=x`. `a b -> c d` says that `a b` is another name of `c d`. An option that is not
here may take a value or not.

Marks: `anywhere`: these options may also stand behind a subcommand. `aliases`: a subcommand that is not here may be
anybody's name for another. `cut`: subcommands may be cut short. `stop`: behind the first word that is no option there
is none. `plus`: words with a `+` are none of either. `bare`: the first word is a bundle of letters without its dash.
`refspecs`, `modes`, `signals`: words or values of that kind.

From each program's own manual: GNU coreutils 9, findutils, tar, rsync 3.2, procps, git 2.39 to 2.47, npm 11, pnpm 9,
yarn 1 and 4, cargo 1.8x, docker 28, podman 5, kubectl 1.3x, helm 3, curl 8, wget, OpenSSH 9, pip 24, twine, gh 2,
systemd 252. What another system's program of that name reads otherwise (tar -L, -H) is left out.
"""

from remit_governance.policy.shell.options.option_table_checking import CHECKING
from remit_governance.policy.shell.options.option_table_development import DEVELOPMENT

SYSTEM = """\
rm: -f|--force -r|-R|--recursive -i -I --interactive[=] -d|--dir -v|--verbose --one-file-system --no-preserve-root
    --preserve-root[=]
rmdir: -p|--parents -v|--verbose --ignore-fail-on-non-empty
unlink:
cp: -a|--archive>--recursive>--preserve>--no-dereference -b --backup[=] -d>--no-dereference>--preserve -f|--force
    -i|--interactive -H -l|--link -L|--dereference -n|--no-clobber -P|--no-dereference -p>--preserve --preserve[=]
    --no-preserve= --parents -R|-r|--recursive --reflink[=] --remove-destination --sparse= --strip-trailing-slashes
    -s|--symbolic-link -S|--suffix= -t|--target-directory= -T|--no-target-directory -u --update[=] -v|--verbose
    -x|--one-file-system -Z --context[=] --attributes-only --copy-contents
mv: -b --backup[=] -f|--force -i|--interactive -n|--no-clobber --strip-trailing-slashes -S|--suffix=
    -t|--target-directory= -T|--no-target-directory -u --update[=] -v|--verbose -Z|--context
ln: -b --backup[=] -d|-F|--directory -f|--force -i|--interactive -L|--logical -n|--no-dereference -P|--physical
    -r|--relative -s|--symbolic -S|--suffix= -t|--target-directory= -T|--no-target-directory -v|--verbose
chmod [modes]: -c|--changes -f|--silent|--quiet -v|--verbose --no-preserve-root --preserve-root --reference=
    -R|--recursive
chown|chgrp: -c|--changes -f|--silent|--quiet -v|--verbose --dereference -h|--no-dereference --from=
    --no-preserve-root --preserve-root --reference= -R|--recursive -H -L -P
dd: if= of= bs= ibs= obs= cbs= count= seek= oseek= skip= iseek= conv= iflag= oflag= status=
shred: -f|--force -n|--iterations= --random-source= -s|--size= -u --remove[=] -v|--verbose -x|--exact -z|--zero
truncate: -c|--no-create -o|--io-blocks -r|--reference= -s|--size=
mkdir: -m|--mode= -p|--parents -v|--verbose -Z --context[=]
mkfs: -t|--type= -V -v|--verbose
mount: -t|--types= -o|--options= -a|--all -r|--read-only -w|--rw -B|--bind -R|--rbind -L= -U= -v|--verbose -n
umount: -a|--all -f|--force -l|--lazy -r|--read-only -R|--recursive -t|--types= -O= -v|--verbose -n
find: -name= -iname= -path= -ipath= -wholename= -regex= -iregex= -type= -xtype= -size= -mtime= -atime= -ctime= -mmin=
    -amin= -cmin= -newer= -maxdepth= -mindepth= -user= -group= -perm= -links= -inum= -lname= -samefile= -fstype= -uid=
    -gid= -D= -delete -exec -execdir -ok -okdir -print -print0 -printf= -fprint= -fprintf= -fls= -ls -prune -empty -o
    -a -not -L -P -H -depth -d -mount -xdev -quit -true -false -follow -executable -readable -writable -regextype=
tar [bare]: -A|--catenate|--concatenate -c|--create --delete -d|--diff|--compare -r|--append -t|--list -u|--update
    -x|--extract|--get -g|--listed-incremental= -G|--incremental -n|--seek -S|--sparse --add-file= -C|--directory=
    --exclude= --exclude-from= -X= -T|--files-from= --null -k|--keep-old-files --overwrite --remove-files
    -U|--unlink-first -W|--verify -O|--to-stdout --to-command= --group= --mode= --mtime= -m|--touch --owner=
    -p|--preserve-permissions|--same-permissions --sort= -s|--preserve-order -f|--file= -F|--info-script=
    --tape-length= -M|--multi-volume --rmt-command= --rsh-command= -b|--blocking-factor= -B|--read-full-records
    -i|--ignore-zeros --record-size= --format= -V|--label= -a|--auto-compress -I|--use-compress-program= -j|--bzip2
    -J|--xz -z|--gzip|--gunzip|--ungzip -Z|--compress --zstd --backup[=] -h|--dereference -K|--starting-file=
    -N|--newer= --newer-mtime= -P|--absolute-names --suffix= --strip-components= --transform|--xform= --checkpoint[=]
    --checkpoint-action= --index-file= -l|--check-links -R|--block-number --totals[=] -v|--verbose --warning=
    -w|--interactive -o|--no-same-owner --same-owner --numeric-owner --skip-old-files --keep-newer-files
    --one-top-level[=]
rsync: -v|--verbose -q|--quiet -a|--archive>--recursive>--links>--perms>--times>--group>--owner -r|--recursive
    -R|--relative -b|--backup --backup-dir= --suffix= -u|--update --inplace --append -d|--dirs -l|--links
    -L|--copy-links -H|--hard-links -p|--perms -E|--executability --chmod= -A|--acls -X|--xattrs -o|--owner -g|--group
    -D -t|--times -O -S|--sparse -n|--dry-run -W|--whole-file -x|--one-file-system -e|--rsh= --rsync-path= --existing
    --ignore-existing --remove-source-files --del|--delete-during<--delete --delete --delete-before<--delete
    --delete-delay<--delete --delete-after<--delete --delete-excluded<--delete --force --max-delete= --max-size=
    --min-size= --partial --partial-dir= -m|--prune-empty-dirs --timeout= --port= -B|--block-size= -T|--temp-dir=
    --compare-dest= --copy-dest= --link-dest= -z|--compress -C|--cvs-exclude -f|--filter= -F --exclude=
    --exclude-from= --include= --include-from= --files-from= -0|--from0 -P>--partial>--progress --progress
    -i|--itemize-changes -M|--remote-option= --out-format= --log-file= --password-file= --bwlimit= -h|--human-readable
    -4|--ipv4 -6|--ipv6 --stats --numeric-ids -s
kill [signals]: -s|--signal= -n= -q|--queue= -l|--list -L|--table -p|--pid -a|--all
pkill|pgrep [signals]: --signal= -q|--queue= -e|--echo -c|--count -f|--full -g|--pgroup= -G|--group= -i|--ignore-case
    -n|--newest -o|--oldest -O|--older= -P|--parent= -s|--session= -t|--terminal= -u|--euid= -U|--uid= -x|--exact
    -F|--pidfile= -L|--logpidfile -r|--runstates= --ns= --nslist= -v|--inverse -d|--delimiter= -l|--list-name
killall [signals]: -s|--signal= -e|--exact -I|--ignore-case -g|--process-group -y|--younger-than= -o|--older-than=
    -i|--interactive -l|--list -q|--quiet -r|--regexp -u|--user= -v|--verbose -w|--wait -n|--ns= -Z|--context=
make|gmake: -f|--file|--makefile= -C|--directory= -j[=] --jobs[=] -l[=] -I|--include-dir= -o|--old-file= -W|--what-if=
    -B|--always-make -i|--ignore-errors -k|--keep-going -n|--just-print|--dry-run -s|--silent|--quiet -q|--question
    -e|--environment-overrides -r -R -d -w -O[=]
mvn: -f= -C= -p= -b= -x= -e -q -s= -v -o -B -U -X -N -P= -T= -D= -pl|--projects= -am|--also-make -amd -rf= -gs= -ntp
gradle|gradlew|ant|ninja|just|task|rake|invoke|fab|tox|nox|sbt|lein|mix: -f= -C= -p= -b= -x= -e= -q -s -v
python [stop]: -m= -c= -W= -X= -B -d -E -i -I -O -OO -q -s -S -u -v -x -b -P
ruby|perl|php|deno|bun|tsx|ts-node [stop]:
node [stop]: -e|--eval= -p|--print= -r|--require= --import= --loader= -c|--check -i|--interactive --input-type=
    -C|--conditions=
sh|bash|dash|zsh|ksh|ash|mksh|fish [stop]: -c -e -u -x -l|--login -i -o= --rcfile= --init-file= --norc --noprofile
    --posix
sudo|doas [stop]: -u|--user= -g|--group= -p|--prompt= -C|--close-from= -h|--host= -r|--role= -t|--type= -U=
    -D|--chdir= -T= -R|--chroot= -n -b|--background -E -H -i|--login -s|--shell -k -K -S|--stdin -A|--askpass
    -l|--list -v -a=
ssh [stop]: -B= -b= -c= -D= -E= -e= -F= -I= -i= -J= -L= -l= -m= -O= -o= -p= -Q= -R= -S= -W= -w= -4 -6 -A -a -C -f -G
    -g -K -k -M -N -n -q -s -T -t -V -v -X -x -Y -y
scp|sftp: -c= -D= -F= -i= -J= -l= -o= -P= -S= -X= -b= -B -R -s= -3 -4 -6 -A -C -O -p -q -r -T -v
curl: -a|--append --cacert= --capath= -E|--cert= --cert-type= --ciphers= -K|--config= --connect-timeout= --connect-to=
    -C|--continue-at= -b|--cookie= -c|--cookie-jar= -d|--data|--data-ascii= --data-binary= --data-raw=
    --data-urlencode= -q|--disable --dns-servers= --doh-url= -D|--dump-header= -f|--fail -F|--form= --form-string=
    -P|--ftp-port= -G|--get -g|--globoff -I|--head -H|--header= -h|--help -i|--include -k|--insecure --interface=
    --json= -j|--junk-session-cookies --keepalive-time= --key= --key-type= --limit-rate= -l|--list-only -L|--location
    --location-trusted --max-filesize= --max-redirs= -m|--max-time= -n|--netrc --netrc-file= -N|--no-buffer --noproxy=
    --oauth2-bearer= -o|--output= --output-dir= -Z|--parallel --parallel-max= --pass= -x|--proxy= -U|--proxy-user=
    --proxy-header= -p|--proxytunnel --pinnedpubkey= --proto= --proto-redir= --pubkey= -Q|--quote= -r|--range= --rate=
    -e|--referer= -J|--remote-header-name -O|--remote-name --remote-name-all -R|--remote-time -X|--request=
    --request-target= --resolve= --retry= --retry-delay= --retry-max-time= -S|--show-error -s|--silent --socks4=
    --socks4a= --socks5= --socks5-hostname= -Y|--speed-limit= -y|--speed-time= --stderr= -t|--telnet-option=
    -z|--time-cond= --trace= --trace-ascii= --unix-socket= -T|--upload-file= --url= -B|--use-ascii -u|--user=
    -A|--user-agent= -v|--verbose -V|--version -w|--write-out= --compressed --create-dirs -0|--http1.0 --http1.1
    --http2 -1|--tlsv1 -2 -3 -4|--ipv4 -6|--ipv6 -#|--progress-bar
wget: -O|--output-document= -P|--directory-prefix= -o|--output-file= -a|--append-output= -i|--input-file=
    -e|--execute= -t|--tries= -T|--timeout= -w|--wait= -Q|--quota= -U|--user-agent= --header= --post-data=
    --post-file= --method= --body-data= --body-file= --user= --password= --limit-rate= -l|--level= -A|--accept=
    -R|--reject= -D|--domains= -I|--include-directories= -X|--exclude-directories= -r|--recursive -m|--mirror
    -N|--timestamping -c|--continue -q|--quiet -v|--verbose -nv -nc|--no-clobber -nd -nH -np|--no-parent
    -k|--convert-links -p|--page-requisites -S -b --no-check-certificate --spider -x -B|--base= --load-cookies=
    --save-cookies= --referer= --cut-dirs=
"""

TABLE = SYSTEM + DEVELOPMENT + CHECKING
