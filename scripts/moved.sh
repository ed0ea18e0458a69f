#!/bin/sh
# A line where .venv is of another folder, as after a clone was moved or copied: `make help` says so, which starts no
# Python. scripts/bootstrap.sh sets it right; its stamp names the folder.
set -eu
cd "$(dirname "$0")/.."
for stamp in .venv/.installed-*; do
    [ -s "$stamp" ] || continue
    read -r there < "$stamp"
    [ "$there" != "$(pwd -P)" ] || continue
    echo "note: .venv is of $there, whose code it runs; \`make install\` sets it to this folder" >&2
done
