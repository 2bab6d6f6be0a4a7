#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Variants of the library's families: each family, copied under another name, is
# driven by the library's own host code, which finds what a variant does wrong.
. "$(dirname "$0")/common.sh"

sources=$(cd "$tree/kernels-src" && pwd)
cd "$work" || exit 1
if ! command -v "${GROAT_CXX:-c++}" >/dev/null 2>&1; then
    skip "variants of families: there is no C++ compiler"
    exit 77
fi

# copy FAMILY: makes my_FAMILY as doc/kernels.md says.
copy() {
    cp -r "$sources/$1" "my_$1"
    mv "my_$1/$1.h" "my_$1/my_$1.h"
    sed -i "s/$1/my_$1/g" "my_$1"/*.h "my_$1/params.def"
    echo "driver $1" >"my_$1/run.def"
}

# refuses NAME TEXT [LINES]: my_plain_read, with these lines in run.def, is
# refused with a text.
refuses() {
    [ $# -lt 3 ] || printf '%b' "$3" >my_plain_read/run.def
    expect "$1" 2 run ./my_plain_read --target cpu:gfx950
    says "$1: says why" "$2"
}

for file in "$sources"/*/host.c; do
    family=$(basename "$(dirname "$file")")
    copy "$family"
    expect "a copy of $family" 0 run "./my_$family" --target cpu:sm_90a
    answers "a copy of $family is compared" "verified  yes"
done
expect "drawn" 0 draw ./my_tile_loader_lds --target cpu:gfx950 -o tile.svg
expect "with an argument" 0 run ./my_tile_loader_lds --target cpu:gfx950 \
    --first-row 3
expect "in the list" 0 families --family-path .
answers "it can be run" "groat run"
expect "its files for editors" 0 new --refresh my_tile_loader_lds

# What a variant does wrong is found as it is in a family of its own.
loader=my_tile_loader_lds/my_tile_loader_lds.h
line=$(grep -n "async_wait<0, 0>();" $loader | head -n 1 | cut -d: -f1)
sed -i "${line}s/async_wait<0, 0>();//" $loader
expect "a wait too few" 1 run ./my_tile_loader_lds --target cpu:gfx950
answers "is told with its line" "here at my_tile_loader_lds/my_tile_loader_lds.h:"

# ---- what a driver cannot drive ------------------------------------------------
cp my_plain_read/run.def good.def
cp my_plain_read/params.def good.params
refuses "no such family" "my_plain_read/run.def:1: 'plain_raed' is no family of the library" 'driver plain_raed\n'
refuses "more than a driver" "my_plain_read/run.def:2: a driver stands alone" '# a variant\ndriver plain_read\ngrid 3\n'
refuses "two drivers" "run.def:2: driver is there once, in line 1" 'driver plain_read\ndriver plain_read\n'
refuses "a word too many" "the end of the line expected" 'driver plain_read now\n'
refuses "no name" "the name of a family of the library expected" 'driver\n'
refuses "itself" "'my_plain_read' is no family of the library" 'driver my_plain_read\n'
cp good.def my_plain_read/run.def
sed -i 's/unroll/turns/g' my_plain_read/params.def
refuses "a parameter less" "the driver of plain_read reads parameter 'unroll'"
cp good.params my_plain_read/params.def
sed -i 's/^launch args .*/launch args = 32/' my_plain_read/params.def
sed -i 's/unsigned blocks;/& unsigned more[2];/' my_plain_read/args.h
refuses "other arguments" "launch args of params.def is 32 bytes, and the driver that run.def names writes"
finish
