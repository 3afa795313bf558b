# Runs `cargo test` with programs of tests that sign how each test ended, on the standard output that they have anyway
# (FLW-04). Where this Rust, or a package's edition, does not let them, nothing is signed.
#
# The key is in no argument and no environment, which tests could look at. It is compiled in, under a name that no source
# can know, and the files that hold it are gone before a program of tests starts.
read -r key <&9
exec 9<&-
here=${0%/*}
name=remit$(od -An -v -N8 -tx1 /dev/urandom | tr -d ' \n')
first=$(printf '%.16s' "$key")
second=${key#"$first"}
second=$(printf '%.16s' "$second")
sed -e "s/(K0, K1)/(0x$first, 0x$second)/" "$here/inside_cargo.rs" >"$here/$name.rs"
library=$here/lib$name.rlib
if RUSTC_BOOTSTRAP=1 rustc --edition 2021 --crate-type rlib --crate-name "$name" -o "$library" "$here/$name.rs" 2>/dev/null
then
  cat >"$here/wrapper" <<END
#!/bin/sh
rustc=\$1
shift
is_test=
edition=
for word in "\$@"; do
  case \$word in --test) is_test=1 ;; --edition=2015) ;; --edition=*) edition=1 ;; esac
done
if [ -z "\$is_test" ] || [ ! -f "$library" ]; then exec "\$rustc" "\$@"; fi
if [ -z "\$edition" ]; then
  : >"$here/plain"
  exec "\$rustc" "\$@"
fi
echo >>"$here/programs"
RUSTC_BOOTSTRAP=1 exec "\$rustc" "\$@" "-Zcrate-attr=feature(custom_test_frameworks)" \
  "-Zcrate-attr=test_runner($name::runner)" "--extern=$name=$library"
END
  chmod +x "$here/wrapper"
  : >"$here/programs"
  cargo=$1
  shift 2
  RUSTC_WRAPPER=$here/wrapper "$cargo" test --no-run "$@" >&2 || exit
  [ -f "$here/plain" ] || printf 'remit signed %s\n' "$(wc -l <"$here/programs" | tr -d ' ')"
  set -- "$cargo" test "$@"
  RUSTC_WRAPPER=$here/wrapper
  export RUSTC_WRAPPER
fi
rm -f "$here/$name.rs" "$library"
unset key name first second library
exec "$@"
