"""Programs that come with a system: they look at files, text and the machine, or change files."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from remit_governance.policy.shell.effects.program_row import Program

_READERS = """
    : [ ack addr2line ag alias apropos arch atop awk b2sum base32 base64 basename basenc bat batcat bc blkid break
    btop bzcat bzgrep bzless c++filt cal cat cd choose cksum clear cloc cmp col colordiff column comm continue
    csvcut csvgrep csvjoin csvjson csvlook csvsort csvstat cut date delta df diff difft dir dirname dirs du duf
    dust dwarfdump echo egrep env envsubst exa exit expand export expr eza factor false fastfetch fd fdfind fgrep
    file find findmnt fmt fold free gawk getconf getent glow grep gron groups hash hd head help hexdump hexyl htop
    iconv id in2csv info iostat ipcs javap jless jobs join jp jps jq jstack jstat jtbl last lastlog less
    llvm-cxxfilt llvm-dwarfdump llvm-nm llvm-objdump llvm-readelf llvm-size locale locate look ls lsattr
    lsb_release lsblk lscpu lsd lsipc lslogins lsmem lsmod lsns lsof lspci lsusb man mawk md5 md5sum mdfind mdls
    mediainfo mlocate more mpstat namei nawk ncal neofetch netstat nl nm nproc numfmt nvidia-smi nvtop objdump od
    onefetch otool paste pathchk pdffonts pdfinfo pgrep pidof pidstat plocate popd pr printenv printf procs ps
    pstree pushd pwd pwdx read readelf readlink realpath return rev rg sar scc sed seq set sha1sum sha224sum
    sha256sum sha384sum sha512sum shasum shift shuf size sleep sort ss stat strings sum sw_vers system_profiler
    tac tail test times tldr tokei top tput tr tree true ts tsort tty type ugrep ulimit umask uname unexpand uniq
    uptime users uuidgen vdir vm_stat vmstat w wait wc wdiff whatis whereis which who whoami xxd xzcat xzgrep
    xzless yes zcat zdiff zgrep zipgrep zipinfo zless zmore zstdcat
    """

_CHANGERS = """
    bunzip2 bzip2 csplit dos2unix gunzip gzip indent install ln mkdir mkfifo mktemp rmdir split sponge tee touch
    unix2dos
    unxz unzstd unzip xz zip zstd patch
    """

_FILES: Mapping[str, Program] = {
    "ar": Program(reads="t|p|tv", other="changes", unknown="--plugin"),
    "arp": Program(reads="$, -a $, -n $"),
    "bat": Program(other="reads", unknown="--pager, cache"),
    "batcat": Program(other="reads", unknown="--pager, cache"),
    "chattr": Program(),
    "chgrp": Program(),
    "chmod": Program(other="changes", loses="-R|--recursive"),
    "chown": Program(),
    "cloc": Program(other="reads", files="--out --report-file", unknown="--extract-with"),
    "command": Program(reads="-v|-V ?"),
    "cp": Program(other="changes"),
    "crontab": Program(reads="-l $"),
    **dict.fromkeys(("ffprobe", "identify"), Program(other="reads")),
    **dict.fromkeys(("convert", "ffmpeg", "magick"), Program(other="changes", unknown="-script|-write|-process")),
    **dict.fromkeys(("cwebp", "dwebp", "rsvg-convert"), Program(other="changes")),
    "dd": Program(other="loses"),
    "diff3": Program(other="reads", unknown="--diff-program"),
    "dmesg": Program(other="reads", loses="-C|-c|--clear|--read-clear|-D|-n|--console-off"),
    "dpkg": Program(
        reads="""
        -l|-L|-s|-S|-p|-c|-I|--list|--listfiles|--status|--search|--contents|--info|--version|--print-architecture,
        --get-selections|--audit|--compare-versions|--verify""",
        unknown="-i|-r|-P|--install|--remove|--purge|--unpack|--configure|--root|--admindir",
    ),
    "dpkg-query": Program(other="reads"),
    "file": Program(other="reads", changes="-C|--compile"),
    "gpg": Program(
        reads="--version, -k|--list-keys|--fingerprint|--verify|--list-packets",
        unknown="--export-secret-keys|--delete-keys|--import|--homedir|--options",
    ),
    "history": Program(other="reads", loses="-c|-d|-w"),
    "hostname": Program(reads="$"),
    "hostnamectl": Program(reads="$, status $"),
    "ifconfig": Program(reads="$, -a $, ? $"),
    "ip": Program(
        reads="""
        addr|address|a|link|l|route|r|neigh|n|rule|netns $, addr|address|a|link|l|route|r|neigh|n|rule show|list|ls,
        route get""",
        unknown="-b|-batch|-n|-netns",
    ),
    "iconv": Program(other="reads", files="-o --output"),
    "codesign": Program(reads="-d|-dv|-dvv|-dvvv|-v|-vv|--display|--verify", unknown="-s|--sign|-f|--remove-signature"),
    "csrutil": Program(reads="status"),
    "defaults": Program(reads="read, read-type, domains, find"),
    "diskutil": Program(reads="list, info, apfs list"),
    "exiftool": Program(reads="-ver"),
    "fzf": Program(reads="-f|--filter|--version", unknown="--preview|--bind|--listen|--execute"),
    "getfacl": Program(other="reads"),
    "getfattr": Program(other="reads"),
    "gs": Program(reads="--version|-v"),
    "hdiutil": Program(reads="info, imageinfo, verify"),
    "jar": Program(reads="tf|tvf, -tf|-tvf|--list, --version", changes="cf|cvf|cfe|cfm, -cf|--create"),
    "jcmd": Program(reads="$, -l $, ? VM.version|VM.flags|Thread.print|GC.heap_info|VM.uptime|VM.info $"),
    "jinfo": Program(reads="-flags|-sysprops"),
    "keytool": Program(reads="-list|-printcert"),
    "lipo": Program(reads="-info|-archs|-detailed_info"),
    "networksetup": Program(reads="-listallhardwareports|-listallnetworkservices|-getinfo|-getdnsservers"),
    "nft": Program(reads="--version"),
    "pkgutil": Program(reads="--pkgs|--files|--pkg-info|--check-signature"),
    **dict.fromkeys(("pkg-config", "pkgconf"), Program(other="reads")),
    **dict.fromkeys(("llvm-config", "python-config", "python3-config", "pg_config"), Program(other="reads")),
    "pmset": Program(reads="-g"),
    "qpdf": Program(reads="--check|--show-npages|--version"),
    "pdftotext": Program(other="changes"),
    "pdftoppm": Program(other="changes"),
    "reset": Program(reads="$"),
    "scutil": Program(reads="--dns|--proxy|--nwi|--get"),
    "screen": Program(reads="-ls $, -list $, -v $"),
    "sips": Program(reads="-g", other="unknown"),
    "softwareupdate": Program(asks="-l|--list|--history", unknown="-i|--install|-d|--download|-a|--all|-r"),
    "spctl": Program(reads="--status|-a|--assess"),
    "tmutil": Program(reads="status, listbackups, destinationinfo, latestbackup, listlocalsnapshots"),
    "tmux": Program(reads="ls, list-sessions, list-windows, list-panes, -V"),
    "xcode-select": Program(reads="-p|--print-path|-v|--version"),
    "xcrun": Program(reads="--find|-f|--show-sdk-path|--show-sdk-version|--version ?, simctl list, --show-sdk-path"),
    "getent": Program(reads="hosts|passwd|group|services|protocols|ahosts|networks"),
    "loginctl": Program(reads="$, list-sessions, list-users, show-session, show-user, user-status, session-status"),
    "numactl": Program(reads="-H|-s|--hardware|--show $"),
    "resolvectl": Program(reads="status, query, statistics"),
    "networkctl": Program(reads="$, list, status"),
    "nmcli": Program(reads="$, device status, device show, connection show, general status"),
    "ufw": Program(reads="status, version"),
    "update-alternatives": Program(reads="--list|--display|--query"),
    "alternatives": Program(reads="--list|--display"),
    "efibootmgr": Program(reads="$, -v $"),
    "lvs": Program(other="reads"),
    "vgs": Program(other="reads"),
    "pvs": Program(other="reads"),
    "swapon": Program(reads="--show $, -s $"),
    "modinfo": Program(other="reads"),
    "code": Program(reads="--version|-v $, --list-extensions $, --status $, --diff"),
    **dict.fromkeys(("vim", "vi", "nvim", "emacs", "nano"), Program(reads="--version $, --help $")),
    "journalctl": Program(
        other="reads", loses="--vacuum-size|--vacuum-time|--vacuum-files|--rotate|--flush|--sync|--setup-keys"
    ),
    "launchctl": Program(reads="list, print"),
    "ldd": Program(other="runs"),
    "lsof": Program(other="reads", unknown="-k"),
    "man": Program(other="reads", unknown="-P|-H|-C|--pager|--html|--config-file"),
    "mount": Program(reads="$, -l $"),
    "mv": Program(other="changes"),
    "nm": Program(other="reads", unknown="--plugin"),
    "objdump": Program(other="reads", unknown="--plugin"),
    "openssl": Program(
        reads="""
        version, x509, asn1parse, dgst, verify, ciphers, list, crl, crl2pkcs7, pkcs7, errstr, rand, prime, sha256,
        md5,
        help""",
        changes="genrsa, genpkey, ecparam, req, base64",
        unknown="-engine|-provider|-provider-path|-config|-sign|-writerand",
        files="-out -keyout -CAserial",
    ),
    "patch": Program(other="changes", files="-o --output -r --reject-file"),
    "pbcopy": Program(other="changes"),
    "pbpaste": Program(other="reads"),
    "plutil": Program(reads="-lint|-p"),
    "rm": Program(other="changes", loses="-r|-R|--recursive|--no-preserve-root|-d|--dir"),
    "route": Program(reads="$, -n $"),
    "rpm": Program(
        reads="-q|-qa|-qi|-ql|-qf|-qR|-qd|-qc|-qp|-qpl|-qpi|--query|--version|-V|--verify",
        unknown="-i|-e|-U|-F|--eval|--define|--pipe|--rcfile|--macros|--install|--erase|--upgrade|--import",
    ),
    "rsync": Program(
        reads="-n|--dry-run|--list-only|--version",
        other="changes",
        loses="""
        --delete|--delete-before|--delete-during|--delete-after|--delete-delay|--delete-excluded|--del,
        --remove-source-files|--remove-sent-files|--inplace|--daemon""",
        unknown="-e|--rsh|--rsync-path|--files-from|--write-batch|--password-file|--config",
        files="--log-file --backup-dir --partial-dir",
    ),
    "scc": Program(other="reads", files="-o --output"),
    "sdiff": Program(other="reads", files="-o --output", unknown="--diff-program"),
    "service": Program(reads="? status $, --status-all $"),
    "shred": Program(other="loses"),
    "shuf": Program(other="reads", files="-o --output"),
    "sort": Program(other="reads", files="-o --output", unknown="--compress-program"),
    "ss": Program(other="reads", unknown="-K|--kill|-D|--diag"),
    "ssh-add": Program(reads="-l|-L $"),
    "ssh-keygen": Program(reads="-l|-lf|-B|-F"),
    "stty": Program(reads="$, -a|--all $, size $"),
    "sysctl": Program(reads="-a|-A $"),
    "systemctl": Program(
        reads="""
        status, show, cat, list-units, list-unit-files, list-timers, list-sockets, list-jobs, list-dependencies,
        is-active, is-enabled, is-failed, is-system-running, get-default, --version, $""",
    ),
    "timedatectl": Program(reads="$, status, show, list-timezones"),
    "tar": Program(
        reads="-t|--list|-tf|-tvf|-tzf|-tzvf|-tjf|-tJf|-tjvf, t|tf|tvf|tzf|tzvf|tjf|tjvf|tJf|tvzf",
        other="changes",
        loses="--remove-files|-P|--absolute-names|--unlink-first|--recursive-unlink|--overwrite|--delete",
    ),
    "tree": Program(other="reads", changes="-R", files="-o"),
    "truncate": Program(other="loses"),
    "ugrep": Program(other="reads", unknown="--filter|--pager|--view"),
    "unlink": Program(other="changes"),
    "vm_stat": Program(other="reads"),
    "xmllint": Program(other="reads", files="-o --output", unknown="--shell"),
    "yq": Program(other="reads", changes="-i|-s|--inplace|--in-place|--split-exp|-iP"),
}

_PACKAGES: Mapping[str, Program] = {
    **dict.fromkeys(
        ("apt", "apt-get", "aptitude"),
        Program(reads="list, show, search, policy, depends, rdepends, madison, why, changelog, --version, moo"),
    ),
    "apt-cache": Program(
        reads="policy, show, showpkg, showsrc, search, depends, rdepends, madison, pkgnames, stats, unmet, dump"
    ),
    "apt-mark": Program(reads="showauto, showmanual, showhold"),
    "apt-file": Program(reads="list, search, show, find"),
    "apk": Program(reads="info, list, search, version, policy, stats, --version"),
    "asdf": Program(reads="list, current, where, which, info, help, --version, version, plugin list"),
    "brew": Program(
        reads="""
        --version, --prefix, --cellar, --repository, --cache, --env, list, ls, info, search, config, deps, desc,
        leaves,
        outdated, doctor, log, cat, uses, missing, services list, tap $, help, commands, home""",
    ),
    **dict.fromkeys(
        ("conda", "mamba", "micromamba"),
        Program(reads="list, info, search, env list, config --show, config --show-sources, --version, compare"),
    ),
    **dict.fromkeys(
        ("dnf", "yum", "zypper"),
        Program(reads="list, info, search, repolist, provides, check-update, history list, deplist, repos, --version"),
    ),
    "flatpak": Program(reads="list, info, search, remotes, history, --version"),
    "mise": Program(reads="ls, list, current, where, which, doctor, version, --version, env"),
    "adb": Program(reads="devices, version, logcat -d, get-state", unknown="logcat -c"),
    "emulator": Program(reads="-list-avds|-version"),
    "fnm": Program(reads="list, ls, current, --version, env", changes="use"),
    "nvm": Program(reads="ls, list, current, version, which, ls-remote, --version"),
    "pacman": Program(reads="-Q|-Qi|-Ql|-Qs|-Qo|-Qe|-Qm|-Si|-Ss|--version|-V"),
    "port": Program(reads="installed, info, search, list, contents, version"),
    **dict.fromkeys(
        ("pyenv", "rbenv", "goenv", "nodenv", "jenv"),
        Program(reads="versions, version, which, whence, root, commands, help, --version, prefix, local $, global $"),
    ),
    "rustup": Program(
        reads="""
            show, toolchain list, target list, component list, which, --version, check, override list, doc --path,
            help"""
    ),
    "snap": Program(reads="list, info, find, version, services, connections, changes"),
    "volta": Program(reads="list, which, --version, help"),
}

_NETWORK: Mapping[str, Program] = {
    **dict.fromkeys(("dig", "host", "nslookup", "tracepath", "traceroute", "whois", "mtr"), Program(other="asks")),
    **dict.fromkeys(("ping", "ping6"), Program(other="asks", sends="-f|--flood")),
    "delv": Program(other="asks"),
}

FILES: Mapping[str, Program] = MappingProxyType(
    {
        **dict.fromkeys(_READERS.split(), Program(other="reads")),
        **dict.fromkeys(_CHANGERS.split(), Program(other="changes")),
        **_FILES,
        **_PACKAGES,
        **_NETWORK,
    }
)
"""Program → what it does."""
