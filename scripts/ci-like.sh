#!/usr/bin/env bash
# Runs `make check` in a fresh clone of the last commit with a fresh environment, to find before CI what uncommitted files hide.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -n "$(git status --porcelain)" ]; then
  echo "not committed, so not looked at:" >&2
  git status --short >&2
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git clone -q . "$work/remit"
mkdir "$work/home"
# Only the settings that npm and pip need to find their registries are copied from this machine.
for name in .npmrc .config/pip .config/uv; do
  if [ -e "$HOME/$name" ]; then
    mkdir -p "$work/home/$(dirname "$name")"
    cp -r "$HOME/$name" "$work/home/$name"
  fi
done
cd "$work/remit"
env -u VIRTUAL_ENV -u PYTHONPATH HOME="$work/home" XDG_STATE_HOME="$work/home/state" XDG_CONFIG_HOME="$work/home/.config" CI=true make check
