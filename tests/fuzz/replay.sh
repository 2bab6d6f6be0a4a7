#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# replay.sh FOLDER/fuzz_NAME.fuzz: runs a fuzz target over its corpus,
# corpus/NAME beside this script.
program=$1
name=${program##*/fuzz_}
corpus=$(dirname "$0")/corpus/${name%.fuzz}
if [ ! -d "$corpus" ]; then
    echo "$program has no corpus: $corpus"
    exit 1
fi
exec "$program" "$corpus"
