#!/bin/sh
# Writes corpora for the fuzz targets from the stored bundles: seeds.sh FOLDER BUNDLE...
set -eu
out=$1
shift
mkdir -p "$out/forms" "$out/sealed" "$out/zip"
form() { # number, file, name
    { printf "\\$1"; cat "$2"; } > "$out/forms/$3"
}
# Python's reader and writer of archives need nothing but the standard library.
archive() { # folder, file
    PYTHONPATH=$(dirname "$0")/../../../src python3 - "$1" "$2" <<'END'
import sys
from pathlib import Path

from cachezoo.bundles.integrity import archive_bytes

folder = Path(sys.argv[1])
files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
Path(sys.argv[2]).write_bytes(archive_bytes(files))
END
}
# Bundles that every reader refuses.
root=$(cd "$(dirname "$0")/../../.." && pwd)
PYTHONPATH=$root/src:$root python3 -m tests.refused "$out/sealed" "$@"
PYTHONPATH=$root/src:$root python3 -m tests.signed "$out/forms"
bundle=0
for folder in "$@"; do
    number=0
    for file in $(cd "$folder" && find . -type f | sed 's|^\./||' | LC_ALL=C sort); do
        name="$bundle-$(echo "$file" | tr / -)"
        for precision in 000 001 002; do
            {
                printf "\\$(printf %03o "$bundle")\\$(printf %03o "$number")\\$precision"
                cat "$folder/$file"
            } > "$out/sealed/$name-$precision"
        done
        case $file in
            *.json) form 000 "$folder/$file" "$name" ;;
            *.npy) form 001 "$folder/$file" "$name" ;;
            *.csv) form 002 "$folder/$file" "$name" ;;
            *.lgb.txt) form 003 "$folder/$file" "$name" ;;
            *.safetensors) form 004 "$folder/$file" "$name" ;;
            *.bin) form 005 "$folder/$file" "$name" ;;
        esac
        number=$((number + 1))
    done
    archive "$folder" "$out/zip/$bundle"
    bundle=$((bundle + 1))
done
