"""The options of programs that look, build and check, written as `option_table` explains."""

CHECKING = """\
sort: -b -d|--dictionary-order -f|--ignore-case -g -i -M -h|--human-numeric-sort -n|--numeric-sort -R -V -r|--reverse
    --sort= --batch-size= -c|--check[=] -C --compress-program= --debug --files0-from= -k|--key= -m|--merge -o|--output=
    -s|--stable -S|--buffer-size= -t|--field-separator= -T|--temporary-directory= --parallel= -u|--unique
    -z|--zero-terminated
tree: -a -d -l -f -x -L= -R -P= -I= --gitignore --gitfile= --ignore-case --matchdirs --metafirst --prune --info
    --infofile= --noreport --charset= --filelimit= -o= -q -N -Q -p -u -g -s -h --si --du -D --timefmt= -F --inodes
    --device -v -t -c -U -r --dirsfirst --filesfirst --sort= -i -A -S -n -C -X -J -H= -T= --nolinks --hintro= --houtro=
    --fromfile --fromtabfile --fflinks --version --help
shuf: -e|--echo -i|--input-range= -n|--head-count= -o|--output= --random-source= -r|--repeat -z
iconv: -f|--from-code= -t|--to-code= -l|--list -c -o|--output= -s|--silent --verbose
sdiff: -o|--output= -w|--width= -s|--suppress-common-lines -l -i -W -b -B --diff-program=
patch: -p|--strip= -i|--input= -o|--output= -r|--reject-file= -d|--directory= -R|--reverse -E -N|--forward -b|--backup
    -z|--suffix= -B= -F|--fuzz= -t|--batch -f|--force -s|--silent -u -c -n -e --dry-run --verbose -l -D= -Y= -V= -g=
scc: -o|--output= -f|--format= -i|--include-ext= -s|--sort= --by-file --no-cocomo -w
cloc: --out= --report-file= --exclude-dir= --include-lang= --extract-with= --by-file --json --csv --git --vcs= --quiet
openssl: -out= -in= -inform= -outform= -keyout= -noout -text -subject -issuer -dates -fingerprint -sha256 -pubkey
openssl x509|req|rsa|dgst|rand|enc|genrsa|genpkey|verify|base64|pkcs7|crl|asn1parse: -out= -in= -inform= -outform=
    -keyout= -noout -text -subject -issuer -dates -fingerprint -sha256 -pubkey -hex -base64 -sign= -engine= -config=
    -writerand= -d -e -a -pass= -k= -K= -iv= -days= -newkey= -key= -CAfile= -enddate -startdate -serial -modulus
    -verify=
    -signature= -binary -algorithm= -pkeyopt=
cmake: -S= -B= -D= -G= -A= -T= -E -U= -W= -L -N -P= -C= -LA -LAH --build= --target|-t= -j|--parallel= --config=
    --install= --open= --preset= --workflow --fresh --clean-first --log-level= --prefix= --component= -v|--verbose
    --version --help --toolchain= --list-presets[=] --trace -Wno-dev -Wdev -Werror=
go: -C=
go build|test|run|install|vet|list|generate|fmt|clean|get: -C= -o= -run= -bench= -tags= -timeout= -count= -p=
    -covermode= -coverpkg= -coverprofile= -cpuprofile= -memprofile= -ldflags= -gcflags= -mod= -modfile= -f= -exec=
    -toolexec= -vettool= -overlay= -v -x -n -race -a -short -json -cover -u -m -e -deps -export -fuzz= -fuzztime=
    -parallel=
    -benchmem -failfast -i -shuffle= -skip= -trimpath -asmflags=
go env: -w -u -json -changed
redis-cli: -h= -p= -n= -a= -u= -s= -t= -r= -i= -x -c --user= --pass= --tls --raw --no-raw --csv --json -3 -2 --eval=
    --scan --pattern= --stat --bigkeys --pipe --rdb= --version
gcc|cc|clang|g++|c++|clang++|rustc|gfortran|ld|as|ghc|ocamlopt|ocamlc: -o= -c -S -E -I= -L= -l= -D= -U= -x= -MF= -MJ=
    -include= -isystem= -wrapper= -specs= --specs= -plugin= -load= -fplugin= -Wall -Wextra -Werror -pedantic -g -O
    -O0 -O1
    -O2 -O3 -Os -Og -std= -shared -fPIC -pthread -v -w -static -MMD -MD -MP -MM -M -fsyntax-only -dumpversion
    -dumpmachine
    --version --edition= --crate-type= --crate-name= --emit= --out-dir= --extern= -C= --target= -march= -m32 -m64
rpm: -q -a -i -l -f= -R -d -c -p= -V -e= -U= -F= --query --verify --eval= --define= --qf= --queryformat= --version -qa
    -qi -ql -qf -qR -qd -qc -qp -qpl -qpi
pg_dump: -h= -p= -U= -d= -t= -n= -F= -f|--file= -s -a -c -C -O -x -w -W -j= --schema-only --data-only --no-owner
xmllint: --output|-o= --format --noout --schema= --xpath= --valid --shell --nonet --html --encode=
systemd-analyze|coverage:
coverage run|report|html|xml|json|combine|erase|lcov|annotate|debug: -m --source= --omit= --include= --rcfile=
    --branch -a --append -p --parallel-mode --data-file= -d= -o= --fail-under= --show-missing --skip-covered --format=
    -i --context=
mysql|mariadb: -h|--host= -P|--port= -u|--user= -p -e|--execute= -D|--database= -S|--socket= -B -N -t -s -v
php: -l -v -m -i -h -q -n -s -w -a -r= -d= -c= -f= -z= -B= -R= -F= -E= -S= -t= --run= --define= --syntax-check
    --version --ini
ruby: -c -w -v -n -p -a -l -s -x -S -e= -r= -I= -C= -i[=] --version --yjit --jit -W[=]
perl: -c -w -v -V -n -p -a -l -s -t -T -e= -E= -M= -I= -m= -i[=] -F= -0 --version
command: -v -V -p
luac: -p -l -s -v -o=
cdk|pulumi|sam|serverless|firebase|vercel|wrangler [anywhere]: --profile= --stage= --region= --stack= -s= --project=
"""
