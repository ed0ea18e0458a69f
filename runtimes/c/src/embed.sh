#!/bin/sh
# Writes the C source of cz_schemas: the JSON Schemas given, as bytes.
set -eu
printf '/* Made by embed.sh. */\n#include "store.h"\n\n'
number=0
for file in "$@"; do
    printf 'static const unsigned char SCHEMA%d[] = {\n' "$number"
    od -An -v -t u1 "$file" | sed 's/  */,/g; s/^,//; s/$/,/'
    printf '};\n'
    number=$((number + 1))
done
printf '\nconst cz_embedded cz_schemas[] = {\n'
number=0
for file in "$@"; do
    id=$(sed -n 's|^ *"$id": ".*/\(.*\)",$|\1|p' "$file")
    printf '    {"%s", SCHEMA%d, sizeof SCHEMA%d},\n' "$id" "$number" "$number"
    number=$((number + 1))
done
printf '};\nconst size_t cz_n_schemas = sizeof cz_schemas / sizeof *cz_schemas;\n'
