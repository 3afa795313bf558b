# Runs `go test` with the `testing` of this Go, in which a few lines of ours sign how each test ended, on the standard
# output that a program of tests has anyway (FLW-04). Where that package is another than known, nothing is signed.
#
# The key is in no argument and no environment, which tests could look at. It is compiled in, under a name that no source
# can know, and the file that holds it is gone before a program of tests starts.
read -r key <&9
exec 9<&-
here=${0%/*}
root=$("$1" env GOROOT)/src/testing
name=remit$(od -An -v -N8 -tx1 /dev/urandom | tr -d ' \n')
end='^func (m \*M) Run() (code int) {$'
test='^func (t \*T) report() {$'
fuzz='^func (f \*F) report() {$'
example='^func (eg \*InternalExample) processRunResult(.*) (passed bool) {$'
if [ "$(grep -c -e "$end" -e "$test" -e '^import ($' "$root/testing.go")" = 3 ]; then
  {
    sed -e "s/^import (\$/&\n\t${name}Hash \"crypto\/sha256\"\n\t${name}Os \"os\"\n\t${name}Sync \"sync\"\n\t${name}Fmt \"fmt\"/" \
      -e "s/$end/&\n\tdefer func() { ${name}(\"\", m.exitCode != 0, false) }()/" \
      -e "s/$test/&\n\tif t.parent != nil {\n\t\t${name}(t.name, t.Failed(), t.Skipped())\n\t}/" "$root/testing.go"
    cat <<END

var (
	${name}Mutex ${name}Sync.Mutex
	${name}Count int
	${name}Out = ${name}Os.NewFile(1, "report")
)

func $name(test string, failed, skipped bool) {
	ending := "passed"
	if failed {
		ending = "failed"
	} else if skipped {
		ending = "skipped"
	}
	${name}Mutex.Lock()
	defer ${name}Mutex.Unlock()
	line := ${name}Fmt.Sprintf("%d %d %s %x", ${name}Os.Getpid(), ${name}Count, ending, test)
	${name}Count++
	sum := ${name}Hash.Sum256([]byte("$key " + line + " $key"))
	${name}Fmt.Fprintf(${name}Out, "remit %x %s\n", sum, line)
}
END
  } >"$here/testing.go"
  sed "s/$fuzz/&\n\tif f.parent != nil {\n\t\t${name}(f.name, f.Failed(), f.Skipped())\n\t}/" "$root/fuzz.go" >"$here/fuzz.go"
  sed "s/$example/&\n\tdefer func() { ${name}(eg.Name, !passed, false) }()/" "$root/example.go" >"$here/example.go"
  overlay=
  for file in testing fuzz example; do overlay="$overlay, \"$root/$file.go\": \"$here/$file.go\""; done
  printf '{"Replace": {%s}}' "${overlay#, }" >"$here/overlay.json"
  # Whatever a program of tests prints comes after this line, which names its process.
  printf 'rm -f "%s/testing.go"\nprintf "remit begin %%s\\n" "$$"\nexec "$@"\n' "$here" >"$here/exec.sh"
  if "$1" build "-overlay=$here/overlay.json" testing >/dev/null 2>&1; then
    echo 'remit signed'
    go=$1
    shift 2
    set -- "$go" test "-overlay=$here/overlay.json" "-exec=/bin/sh $here/exec.sh" "$@"
  fi
fi
unset key name
exec "$@"
