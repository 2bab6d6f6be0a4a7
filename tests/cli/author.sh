#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Families outside the library: groat new, run.def, reference.c, files of
# buffers.  Each template runs on every arch of the judge; errors in a folder
# are reported with file and line, and nothing is lost because of them.
. "$(dirname "$0")/common.sh"

cd "$work" || exit 1
if ! command -v "${GROAT_CXX:-c++}" >/dev/null 2>&1; then
    skip "families of one's own: there is no C++ compiler"
    exit 77
fi

# ---- templates -----------------------------------------------------------------

for template in gemv reduce ring tile; do
    expect "new from $template" 0 new "my_$template" --from $template
    for file in my_$template.h args.h params.def params.h run.def run.h \
        reference.c README.md .clangd compile_commands.json; do
        [ -s "my_$template/$file" ] || fail "$template has $file"
    done
    if grep -r FAMILY "my_$template" >/dev/null; then
        fail "no FAMILY is left in $template"
    fi
    for arch in sm_80 sm_90a gfx90a gfx950; do
        expect "$template on $arch" 0 run ./my_$template --target cpu:$arch
        answers "$template on $arch is compared" "verified  yes"
    done
    for header in params.h run.h; do
        printf '#include "%s/my_%s/%s"\n' "$work" $template $header >probe.cc
        "${GROAT_CXX:-c++}" -fsyntax-only -std=c++17 probe.cc ||
            fail "$header of $template compiles"
    done
done
cp -r my_reduce lazy
(cd lazy && mv my_reduce.h lazy.h && sed -i 's/my_reduce/lazy/g' ./* &&
    sed -i 's/.*global_store4(args.y.*/;/' lazy.h && sed -i 's/$/\r/' params.def)
expect "an output that is not written, CRLF" 1 run ./lazy --target cpu:sm_90a
answers "is told" ", as it was filled before the launch"
expect "and as JSON" 1 run ./lazy --target cpu:sm_90a --json
answers "too" '"unwritten": true'
expect "draw one of its own" 0 draw ./my_tile --target cpu:sm_90a -o tile.svg
expect "its bank conflicts" 0 run ./my_tile:pad=0 --target cpu:sm_90a \
    --report banks
answers "are counted" "conflict"
expect "by path and parameters" 0 run my_tile/:tile=16 --target cpu:sm_90a
expect "two by their folders" 0 run ./my_tile "$work/my_gemv" \
    --target cpu:sm_90a
expect "by --family-path" 0 run my_reduce --family-path . --target cpu:sm_90a
expect "what it takes" 0 families ./my_gemv
answers "its buffers" "[rows, cols]"
answers "its arguments" "--arg rows"
expect "and in JSON" 0 families ./my_tile --json
answers "with what is derived" '"expression": "tile + pad"'

# The files for editors, refreshed after an edit.
cp -r my_tile edited
sed -i 's/my_tile/edited/g' edited/*.h edited/*.def edited/*.c
mv edited/my_tile.h edited/edited.h
sed -i 's/^param  tile .*/&\nparam  more int 1..9 7 things "new"/' edited/params.def
sed -i 's/^arg    rows .*/&\narg    extra int 1..9 5 things "new"/' edited/run.def
expect "what editors get, anew" 0 new edited/ --refresh
grep -q "more = 7" edited/params.h || fail "params.h has the new parameter"
grep -q "extra" edited/run.h || fail "run.h has the new argument"
sed -i 's/^param  tile .*/&\nparam  kind enum a=12|b=34 b - "numbered"/' \
    edited/params.def
echo '_Static_assert(kind_a == 12 && kind_b == 34, "as in params.def");' \
    >>edited/reference.c
expect "a reference sees the numbers of enumerators" 0 run ./edited \
    --target cpu:gfx950
(cd my_tile && "$groat" run . ./:tile=16 ../my_tile/. --target cpu:gfx950 \
    >"$work/dots" 2>&1)
if [ "$(grep -c '^  verified  yes' "$work/dots")" -eq 3 ]; then
    pass "a folder by its dots"
else
    fail "a folder by its dots" "$(cat "$work/dots")"
fi
for given in "" 9x -q "a b" .. "$(printf '%049d' 0 | tr 0 a)"; do
    expect "no name: $given" 2 new -- "$given"
    says "what names are" "is no name of a family: a letter, then"
done
for given in class int concept groat sqrt common; do
    expect "a taken name: $given" 2 new "$given"
    says "whose it is" "a family is not called $given: that is a word"
done
for given in u32 vec4 float_bits add_numbers; do
    expect "a name of the library: $given" 2 new "$given"
    says "which file has it" ".h has something of that name"
    [ ! -e "$given" ] && pass "no folder is made" || fail "no folder is made"
done
expect "a path with a colon" 2 new "co:lon/x"
says "is refused" "which stands between a family and its parameters"
expect "of a folder that is no family" 2 new "$work/home" --refresh
says "says why" "has no params.def"
expect "of no folder" 2 new none --refresh
expect "of a template" 2 new edited --refresh --from tile
if command -v clangd >/dev/null 2>&1; then
    for template in gemv reduce ring tile; do
        sed -i "s|-iquote/[^\"]*/kernels-src/common|-iquote$tree/kernels-src/common|" \
            my_$template/.clangd my_$template/compile_commands.json
        for file in my_$template.h args.h reference.c; do
            clangd --check=my_$template/$file >clangd.log 2>&1
            grep -v tweak: clangd.log | grep -q "^E\[" &&
                fail "clangd of $template: $file" \
                    "$(grep -v tweak: clangd.log | grep '^E' | head -n 3)"
            grep -q "All checks completed" clangd.log ||
                fail "clangd looks at $template: $file" "$(tail -n 3 clangd.log)"
        done
    done
    pass "editors see no error"
else
    skip "templates in an editor: there is no clangd"
fi

expect "a template that is none" 2 new other --from no_such
says "the templates are listed" "gemv, reduce, ring, tile"
expect "a name that is none" 2 new 3d
expect "the name of one of its parameters" 2 new threads --from reduce
says "is told" "threads/params.def:5: the name is the family's"
[ ! -e threads ] || fail "nothing is left of it"
expect "a family in a folder here" 2 run my_tilf
says "is written with its folder" "on the command line by GROAT_FAMILY_PATH or as ./FOLDER"
expect "a folder that is there" 1 new my_tile
says "it is named" "my_tile"
[ -s my_tile/run.def ] || fail "it is left as it was"
expect "a name as a shell completes it" 0 new slashed/
expect "the name of one of its files" 2 new run
says "it is named" "run.h is another of its files"
expect "the name of a family of the library" 2 new plain_read
[ ! -e plain_read ] || fail "nothing is left of it"

# ---- a kernel that is wrong ----------------------------------------------------

cp -r my_reduce wrong
sed -i 's/my_reduce/wrong/g' wrong/*.h wrong/*.def wrong/*.c
mv wrong/my_reduce.h wrong/wrong.h
sed -i 's/sum += bits/sum += 1.0f + bits/' wrong/wrong.h
expect "a wrong sum" 1 run ./wrong --target cpu:sm_90a
answers "the first wrong element" "first y[0], expected"
expect "and in JSON" 1 run ./wrong --target cpu:sm_90a --json
answers "its place" '"place": "y[0]"'
expect "its output, kept" 1 run ./wrong --target cpu:sm_90a \
    --output y=sums.npy
[ -s sums.npy ] || fail "its output is there"
mv wrong/reference.c wrong/reference.old
expect "without a reference" 0 run ./wrong --target cpu:sm_90a
answers "nothing is compared" "neither a reference.c nor a file"
cp sums.npy wrong/sums.npy
cp wrong/run.def "$work/run.def"
sed -i 's/out relative/out file(sums.npy) relative/' wrong/run.def
expect "a file of the folder is expected" 0 run ./wrong --target cpu:sm_90a
answers "it is compared" "verified  yes"
expect "it is of one seed" 1 run ./wrong --target cpu:sm_90a --seed 9
sed -i 's/sums.npy/..\/sums.npy/' wrong/run.def
expect "a file out of the folder" 2 run ./wrong --target cpu:sm_90a
says "its line is named" "wrong/run.def:5"
cp "$work/run.def" wrong/run.def

# ---- findings ---------------------------------------------------------------------

# find NAME WORDS...: ./wrong has a finding, and stderr has each of WORDS.
find() {
    name=$1
    shift
    expect "$name" 1 run ./wrong --target cpu:sm_90a
    for words in "$@"; do
        says "$name: $words" "$words"
    done
}
rm -r wrong
cp -r my_ring wrong
sed -i 's/my_ring/wrong/g' wrong/*.h wrong/*.def wrong/*.c
mv wrong/my_ring.h wrong/wrong.h
sed -i 's/async_wait<ahead, ahead>/async_wait<ahead + 1, ahead + 1>/' \
    wrong/wrong.h
if command -v addr2line >/dev/null 2>&1; then
    read=$(grep -n "shared_load16" wrong/wrong.h | cut -d: -f1)
    sent=$(grep -n "async_copy<lane_bytes>" wrong/wrong.h | cut -d: -f1)
    find "a wait one too weak" "is in flight: a wait is missing" \
        "here at wrong/wrong.h:$read, the copy at wrong/wrong.h:$sent)" \
        "  wrong/wrong.h:$read in add" \
        "      | const vec4 row = shared_load16(" "in the kernel" \
        "  wrong/wrong.h:$sent in fetch"
    find_path=$PATH
    mkdir "$work/bin"
    ln -s "$(command -v "${GROAT_CXX:-c++}")" "$work/bin/c++"
    PATH=$work/bin run run ./wrong --target cpu:sm_90a
    PATH=$find_path
    [ $code -eq 1 ] && ! grep -q "here at" "$err" ||
        fail "without addr2line a finding has no lines" "$(cat "$err")"
else
    skip "lines of findings: there is no addr2line"
fi
# Two reads since the last barrier: the one that races is named.
if command -v addr2line >/dev/null 2>&1; then
    rm -r wrong
    cp -r my_tile wrong
    sed -i 's/my_tile/wrong/g' wrong/*.h wrong/*.def wrong/*.c
    mv wrong/my_tile.h wrong/wrong.h
    sed -i 's|^    shared_fence();|    shared_store4(place(down, across), 0);\n    shared_fence();\n    block_barrier();\n    u32 sum = shared_load4(place(down, across));\n    sum += shared_load4(place(down, across + (across < tile - 1))); // other\n    shared_store4(place(down, across), sum);\n&|' wrong/wrong.h
    other=$(grep -n "// other" wrong/wrong.h | cut -d: -f1)
    find "the other thread's read" "the read at wrong/wrong.h:$other)"
    # A fault in groat's own code: the family's line that called it is named,
    # and the stack has both.
    rm -r wrong
    cp -r my_reduce wrong
    sed -i 's/my_reduce/wrong/g' wrong/*.h wrong/*.def wrong/*.c
    mv wrong/my_reduce.h wrong/wrong.h
    sed -i 's/\(block_reduce<.*, \)\([^,;]*\));/\1(\2) + GROAT_SHARED_BYTES);/' \
        wrong/wrong.h
    called=$(grep -n "block_reduce<" wrong/wrong.h | cut -d: -f1)
    find "a fault in groat's own code" "here at wrong/wrong.h:$called)" \
        "  common/lanes.h:" "  wrong/wrong.h:$called in run"
fi
# An endless loop, with accesses and without.
rm -r wrong
cp -r my_tile wrong
sed -i 's/my_tile/wrong/g' wrong/*.h wrong/*.def wrong/*.c
mv wrong/my_tile.h wrong/wrong.h
cp wrong/wrong.h whole.h
sed 's/    shared_fence();/    while (shared_load4(place(down, across)) != 77777)\n        ;\n&/' \
    whole.h >wrong/wrong.h
expect "a loop without end" 1 run ./wrong --target cpu:sm_90a --timeout 1 \
    --arg rows=64 --arg cols=64
says "is ended" "the launch has not ended in 1 s"
sed 's/    shared_fence();/    for (volatile u32 n = 0; n < 2; n = 0)\n        ;\n&/' \
    whole.h >wrong/wrong.h
expect "one that touches no memory" 1 run ./wrong --target cpu:sm_90a \
    --timeout 1 --json
line=$(grep -n 'volatile u32 n' wrong/wrong.h | cut -d: -f1)
says "is ended, too" "the launch has not ended in 1 s"
says "with its line" "(here at wrong/wrong.h:$line"
says "and all other threads" "; thread 1-"
answers "with the line's text" '"text": "for (volatile u32 n'
is_json "$out" || fail "with an answer in JSON" "$(cat "$out")"
sed 's/    shared_fence();/    for (;;)\n        ;\n&/' whole.h >wrong/wrong.h
for cxx in g++ clang++; do
    command -v $cxx >/dev/null || continue
    GROAT_CXX=$cxx
    export GROAT_CXX
    expect "an empty loop, $cxx" 1 run ./wrong --target cpu:sm_90a --timeout 1
    says "is ended" "the launch has not ended in 1 s"
    says "at a line of its file" "(here at wrong/wrong.h:"
    run run ./wrong --target cpu:sm_90a --timeout 1 --sanitize
    if [ "$code" -eq 3 ]; then
        skip "the same under ASan: $(head -n 1 "$err")"
    else
        says "under ASan, too" "the launch has not ended in 1 s"
    fi
    unset GROAT_CXX
done
sed 's/    shared_fence();/    for (float s = 1; s < 2; s = __builtin_sinf(s))\n        ;\n&/' \
    whole.h >wrong/wrong.h
expect "one that is in another library most of the time" 1 run ./wrong \
    --target cpu:sm_90a --timeout 1
says "has a line of its own" "(here at wrong/wrong.h:"
sed 's/    shared_fence();/    static int calls;\n    for (volatile u32 n = 0; block_index() == 0 \&\& thread_index() == 0 \&\& calls > 0 \&\& n < 2; n = 0)\n        ;\n    if (block_index() == 0 \&\& thread_index() == 0)\n        calls++;\n&/' \
    whole.h >wrong/wrong.h
expect "one in a second launch" 1 run ./wrong --target cpu:sm_90a --timeout 1 \
    --repeat 3 --jobs 1
says "ends it, too" "the launch has not ended in 1 s"
sed 's/    shared_fence();/    asm volatile("1: jmp 1b");\n&/' whole.h >wrong/wrong.h
[ "$(uname -m)" = x86_64 ] || sed -i 's/jmp 1b/b 1b/' wrong/wrong.h
line=$(grep -n 'asm volatile' wrong/wrong.h | cut -d: -f1)
expect "one of assembly code" 1 run ./wrong --target cpu:sm_90a --timeout 1 --json
says "is told with its line" "(here at wrong/wrong.h:$line"
is_json "$out" || fail "and with an answer in JSON" "$(cat "$out")"
for member in spec target key finding verified error; do
    grep -q "\"$member\"" "$out" || fail "which has $member"
done
# A local that is never set, which a compiler may not be sure of: it warns and
# the result is wrong, or it refuses.
awk '/    for \(/ && !n++ { print "    u32 q;" } 1' whole.h |
    awk '/first_row \+/ && ++n == 2 { sub("first_row", "q + first_row") } 1' \
        >wrong/wrong.h
run run ./wrong --target cpu:sm_90a
line=$(grep -n 'q + first_row' wrong/wrong.h | cut -d: -f1)
if [ "$code" -eq 1 ] || [ "$code" -eq 4 ]; then
    says "a local that nobody set" "wrong/wrong.h:$line"
else
    fail "a local that nobody set" "exit code $code: $(head -c 300 "$err")"
fi

# A family may follow pointers of its own: --pointers judges these as well.
sed 's/    shared_fence();/    *(volatile u32 *)64 = 1;\n&/' whole.h >wrong/wrong.h
expect "a pointer to nowhere" 1 run ./wrong --target cpu:sm_90a
says "is told" "uses an invalid pointer"
sed 's/    shared_fence();/    GROAT_PRINT("%s", (const char *)64);\n&/' whole.h >wrong/wrong.h
expect "one that is given to the C library" 1 run ./wrong --target cpu:sm_90a --json
says "is told, too" "in code that it called: it uses an invalid pointer"
is_json "$out" || fail "with an answer in JSON" "$(cat "$out")"
expect "one after another family" 1 run ./my_reduce ./wrong --target cpu:sm_90a \
    --json
answers "that one's result is in the answer" '"verified": true'
answers "and its end" '"verified": null'
# CUDA allows 512 KiB of local memory; a build with ASan has less.
large=500000
[ -z "${GROAT_SANITIZE-}" ] || [ "$GROAT_SANITIZE" = no ] || large=100000
for bytes in $large 5000000; do
    sed "s/    shared_fence();/    volatile char big[$bytes];\n    big[0] = 1;\n    big[$bytes - 1] = big[0];\n&/" \
        whole.h >wrong/wrong.h
    run run ./wrong ./my_reduce --target cpu:sm_90a
    if [ $bytes -eq $large ]; then
        [ "$code" -eq 0 ] && pass "half a megabyte of local memory" ||
            fail "half a megabyte of local memory" "$(head -c 300 "$err")"
    else
        says "more than a device has" "needs more local memory than there is"
        answers "and what follows is run" "verified  yes"
    fi
done
sed 's/    shared_fence();/    *(volatile u32 *)64 = 1;\n&/' whole.h >wrong/wrong.h
expect "a pointer that is judged" 1 run ./wrong --target cpu:sm_90a --pointers
says "is told by its address" "writes 4 bytes at address 0x40, a null pointer"
line=$(grep -n 'volatile u32 \*)64' wrong/wrong.h | cut -d: -f1)
says "and by its line" "wrong/wrong.h:$line"
cp whole.h wrong/wrong.h
expect "with nothing wrong, twice" 0 run ./wrong --target cpu:sm_90a --pointers \
    --repeat 2
expect "pointers under ASan" 2 run ./wrong --target cpu:sm_90a --pointers \
    --sanitize
says "are refused" "exclude each other"

sed 's/rows, cols\] f32 in/rows - 1, cols] f32 in/' my_reduce/run.def \
    >my_reduce/run.new
cp my_reduce/run.def my_reduce/run.old
mv my_reduce/run.new my_reduce/run.def
expect "a row that is not there" 1 run ./my_reduce --target cpu:gfx950
says "is named" "that is x[4, 0], 1 element past the end of x[4, 4096]"
mv my_reduce/run.old my_reduce/run.def

# ---- files of buffers ----------------------------------------------------------

on="--target cpu:sm_90a"
expect "y as .npy" 0 run ./my_reduce $on --output y=y.npy
expect "y as bytes" 0 run ./my_reduce $on --output y.bin
tail -c 20 y.npy | cmp -s - y.bin || fail "both hold the same numbers"
if [ "$(dd if=y.npy bs=1 skip=1 count=5 2>/dev/null)" = NUMPY ] &&
    [ $((($(wc -c <y.npy) - 20) % 64)) -eq 0 ]; then
    pass "the header is numpy's"
else
    fail "the header is numpy's"
fi
if command -v python3 >/dev/null; then
    python3 - <<'END'
import pathlib
data = pathlib.Path("y.npy").read_bytes()
size = int.from_bytes(data[8:10], "little")
head = data[10:10 + size].rstrip().ljust(373) + b"\n"
pathlib.Path("long.npy").write_bytes(
    data[:8] + len(head).to_bytes(2, "little") + head + data[10 + size:])
END
    expect "a header of 374 bytes" 0 run ./my_reduce $on --expect y=long.npy
    # As numpy writes an array of ml_dtypes.bfloat16.
    python3 - <<'END'
import pathlib
head = b"{'descr': '<V2', 'fortran_order': False, 'shape': (9, 4096), }".ljust(117)
pathlib.Path("bf16.npy").write_bytes(
    b"\x93NUMPY\1\0\x76\0" + head + b"\n" + bytes(2 * 9 * 4096))
END
    expect "raw bits of bf16" 0 run ./my_gemv $on --input a=bf16.npy
fi
expect "expected as .npy" 0 run ./my_reduce $on --expect y=y.npy
expect "expected as bytes" 0 run ./my_reduce $on --expect y.bin
head -c 20 /dev/zero >zeros
expect "expected otherwise" 1 run ./my_reduce $on --expect zeros
expect "another seed is other input" 1 run ./my_reduce $on --seed 7 \
    --expect y=y.npy
# numpy may belong to the system's python3 and not to the first in $PATH.
for python in python3 /usr/bin/python3; do
    [ -s x.npy ] || "$python" - <<'END' 2>/dev/null || :
import numpy
numpy.save('x.npy', numpy.ones((5, 4096), dtype='<f4'))
END
done
if [ -s x.npy ]; then
    expect "input of numpy" 0 run ./my_reduce $on --input x=x.npy
else
    skip "x.npy by numpy: there is none"
fi
# lie WORD WITH NAME CODE TEXT: changes WORD in y.npy's header to WITH.
lie() {
    sed "s/$1/$2/" y.npy >lie.npy
    expect "$3" "$4" run ./my_reduce $on --expect y=lie.npy
    says "$3: says so" "$5"
}
lie "(5,)" "(6,)" "another shape" 2 "has the shape [6], buffer y has [5]"
lie "<f4" "<f8" "another dtype" 2 "holds '<f8', buffer y is f32"
lie "<f4" "<V4" "raw bits of floats that numpy has" 2 "holds '<V4', buffer y is f32"
lie "False" "True " "Fortran's order" 2 "Fortran's order"
lie "'shape'" "'shave'" "another key" 2 "malformed"
lie "(5,)" "(5,*" "no shape" 2 "malformed"
lie "(5,)" "(99999999999999999999,)" "a huge shape" 2 "malformed"
printf '\223NUMPY\001\000\377\377{' >lie.npy
expect "a header without end" 2 run ./my_reduce $on --expect y=lie.npy
printf 'NUMPY' >lie.npy
expect "no header" 2 run ./my_reduce $on --expect y=lie.npy
head -c 140 y.npy >lie.npy
expect "too few numbers" 2 run ./my_reduce $on --expect y=lie.npy
expect "no such output" 2 run ./my_reduce $on --expect x=y.npy
says "outputs are listed" "it has y"

# ---- arguments and grid ---------------------------------------------------------

expect "an argument" 0 run ./my_reduce $on --arg rows=2
answers "is taken" "all 8 bytes"
expect "an argument that it lacks" 2 run ./my_reduce $on --arg columns=2
expect "one out of range" 2 run ./my_reduce $on --arg rows=0
says "its range" "allowed are 1 to 65535"
expect "one that is no number" 2 run ./my_reduce $on --arg rows=2x
expect "one twice" 2 run ./my_reduce $on --arg rows=2 --arg rows=3
expect "one without value" 2 run ./my_reduce $on --arg rows
expect "a smaller grid" 1 run ./my_reduce $on --grid 4
answers "misses a row" "first y[4]"
for grid in 0 1,2,3,4 x 1, 4294967296 -1; do
    expect "the grid $grid" 2 run ./my_reduce $on --grid=$grid
done
expect "a grid of the library's" 2 run plain_read $on --grid 2

# ---- run.def ---------------------------------------------------------------------

# refuses NAME LINE TEXT: a LINE instead of the arg of run.def is refused.
cp -r my_reduce bad
sed -i 's/my_reduce/bad/g' bad/*.h bad/*.def bad/*.c
mv bad/my_reduce.h bad/bad.h
cp bad/run.def good.def
refuses() {
    sed "s|^arg .*|$2|" good.def >bad/run.def
    expect "run.def: $1" 2 run ./bad $on
    says "run.def: $1: line and cause" "$3"
}
refuses "no such line" "arq rows" "bad/run.def:2: arg, buffer, bind"
refuses "no range" "arg rows int x 5 rows \"r\"" "LOW..HIGH expected"
refuses "a default outside" "arg rows int 1..4 5 rows \"r\"" \
    "a default from 1 to 4"
refuses "no meaning" "arg rows int 1..4 2 rows" "unit and \"meaning\" expected"
refuses "a type" "arg rows bool - 1 - \"r\"" "the type must be int or float"
refuses "a name twice" "arg x int 1..4 2 rows \"r\"" \
    "bad/run.def:4: the name is taken"
refuses "an unknown name" "arg rows int 1..4 (colz) rows \"r\"" \
    "expression '(colz)', column 2: unknown name"
refuses "a division by zero" "arg rows int 0..4 (1 / 0) rows \"r\"" \
    "division by zero"
refuses "a parameter's name" "arg cols int 1..9 3 columns \"c\"" \
    "cols is a parameter of params.def already"
refuses "a float in a shape" "arg rows float - 1 rows \"r\"" "unknown name"
refuses "a word of C++" "arg for int 1..4 2 rows \"r\"" "the name is a word of C++"
for tolerance in 'ulp(1.5)' 'ulp(99999999999999999999)' 'ulp(-1)'; do
    sed "s|relative([^)]*)|$tolerance|" good.def >bad/run.def
    expect "the tolerance $tolerance" 2 run ./bad $on
    says "what it may be: $tolerance" "ulp(N) with a whole N"
done
for range in '0, 1e39' '-1e39, 0'; do
    sed "s|random([^)]*)|random($range)|" good.def >bad/run.def
    expect "numbers that floats have not: $range" 2 run ./bad $on
    says "are told: $range" "f32 does not have these numbers"
done
cp good.def bad/run.def
mv bad/reference.c reference.c
ln -s nowhere bad/reference.c
expect "a reference that is a link to nothing" 2 run ./bad $on
says "it is named" "bad/reference.c does not compile"
mv reference.c bad/reference.c
cp bad/bad.h bad.h
sed -i '3i #include "nope.h"' bad/bad.h
expect "a file that is not there" 2 run ./bad $on
says "who includes it" "(bad/bad.h:3: file 'bad/nope.h' was not found)"
cp bad.h bad/bad.h
# clang may leave such memory out.
sed -i 's/^    float sum = 0;/    float *part = new float[cols + args.x];\
    float sum = 0 * part[1];/' bad/bad.h
expect "a kernel that takes memory" 1 run ./bad $on
says "is told, with the line" \
    "takes or frees memory of its own, which is not judged (here at bad/bad.h:16)"
mv bad.h bad/bad.h
cp bad/params.def params.def
for entry in int main; do
    sed -i "s/^entry .*/entry $entry/" bad/params.def
    expect "an entry called $entry" 2 run ./bad $on
    says "its line, and why" "the name is a word of C++, at '$entry'"
done
mv params.def bad/params.def
refuses "a bind of no field" "bind none = 1" "args.h has no field none"
# holds CODE PAD LOW: the values of an unsigned and an int.
cp -r bad wide
sed -i 's/bad/wide/g' wide/*.h wide/*.def wide/*.c
mv wide/bad.h wide/wide.h
sed -i 's/^};/    unsigned pad;\n    int low;\n};/' wide/args.h
sed -i 's/^launch args .*/launch args = 24/' wide/params.def
holds() {
    sed 's/bad/wide/g' good.def >wide/run.def
    echo "bind pad = $2
bind low = $3" >>wide/run.def
    expect "fields of $2 and $3" "$1" run ./wide $on
}
holds 0 4294967295 '0 - 2147483648'
holds 2 4294967296 0
says "that is too large" "field pad of args.h has 32 bits, which do not hold 4294967296"
holds 2 '0 - 1' 0
says "that has no sign" "which do not hold -1"
holds 2 0 2147483648
says "that is too large, too" "field low of args.h has 32 bits"
sed 's/ f32 in/ f33 in/' good.def >bad/run.def
expect "run.def: no dtype" 2 run ./bad $on
says "the dtypes are listed" "'f33' is no dtype; dtypes: f64, f32, bf16"
sed 's/cols\]/cols - 5000]/' good.def >bad/run.def
expect "run.def: a shape below 0" 2 run ./bad $on
says "its value" "'cols - 5000' is -904, below 0"
sed 's/\[rows, cols\]/[rows, cols << 40, cols]/' good.def >bad/run.def
expect "run.def: a buffer without end" 2 run ./bad $on
says "is told" "has more than 2^40 bytes"
sed 's/65535/268435455/; s/^grid.*/grid 1/' good.def >bad/run.def
expect "run.def: more than the host has" 1 run ./bad $on --arg rows=67000000
says "is told" "and the host needs 2 copies of them: it has "
sed '/^buffer x/d' good.def >bad/run.def
expect "run.def: a field without value" 2 run ./bad $on
says "is named" "field x of args.h has no value"
sed 's/relative(1e-5)/ulp(x)/' good.def >bad/run.def
expect "run.def: a tolerance" 2 run ./bad $on
says "is told" "exact, ulp(N) with a whole N, relative(X) or none"
for path in ../x.npy x/../../y.npy /etc/passwd ..; do
    sed "s|random(0, 1)|file($path)|" good.def >bad/run.def
    expect "a file outside: $path" 2 run ./bad --target cpu:sm_90a
    says "it has to be inside" "file(PATH) in the family's folder expected"
done
mkfifo bad/pipe.npy
ln -s /etc/hostname bad/link.npy
ln -s .. bad/up
for file in pipe.npy link.npy up/y.npy; do
    sed "s|random(0, 1)|file($file)|" good.def >bad/run.def
    expect "a file that is none: $file" 2 run ./bad --target cpu:sm_90a
    says "is told" "bad/$file is not a regular file in the family's folder"
done
sed 's/random(0, 1)/file(none.npy)/' good.def >bad/run.def
expect "run.def: a file that is not there" 1 run ./bad $on
says "is named" "none.npy: No such file"
says "with its line" "bad/run.def:4: file "
cp y.npy bad/x.npy
sed 's/random(0, 1)/file(x.npy)/' good.def >bad/run.def
expect "run.def: a file of another shape" 2 run ./bad $on
says "its shape" "has the shape [5], buffer x has [5, 4096]"
printf 'arg \000rows' >bad/run.def
expect "run.def: a NUL" 2 run ./bad $on
for i in 1 2 3 4 5 6 7 8; do
    head -c 4000 /dev/urandom >bad/run.def
    run run ./bad $on
    [ $code -eq 2 ] || fail "run.def of random bytes" "exit $code"
done
cp good.def bad/run.def
sed 's/unsigned long long y/struct other y/' bad/args.h >args.new
mv args.new bad/args.h
expect "args.h with a type that is none" 2 run ./bad $on
says "its line" "bad/args.h:6: a type expected"

# ---- maps of run.def -------------------------------------------------------------

cp -r "$tree/tests/kernels/boxes" boxes
chmod -R u+w boxes
cp boxes/run.def boxes.def
expect "a tensor map" 0 run ./boxes --target cpu:sm_90a
cp boxes/boxes.h boxes.h
sed -i 's/tma_load<evict_normal>(args.map/const tensor_map copy = args.map;\n        tma_load<evict_normal>(copy/' boxes/boxes.h
expect "a copy of a tensor map" 1 run ./boxes --target cpu:sm_90a
says "is no descriptor" "a tensor map in local memory: a copy is no descriptor"
mv boxes.h boxes/boxes.h
# maps NAME CODE LINE TEXT: asserts that LINE instead of the map is refused.
maps() {
    sed "s|^map .*|$3|" boxes.def >boxes/run.def
    expect "a map $1" "$2" run ./boxes $on
    says "a map $1: says so" "$4"
}
maps "of no field" 2 "map mop = x [rows, 1, row_cols] swizzle" \
    "boxes/run.def:10: args.h has no field mop"
maps "of a field that is none" 2 "map y = x [rows, 1, row_cols] swizzle" \
    "field y of args.h is no tensor map"
maps "by bind" 2 "bind map = x" "field map of args.h is a tensor map"
maps "that is not there" 2 "" "field map of args.h is a tensor map: write: map map"
maps "of no buffer" 2 "map map = z [rows, 1, row_cols] swizzle" \
    "there is no buffer z"
maps "without buffer" 2 "map map =" "a buffer's name expected"
maps "without box" 2 "map map = x swizzle" "a shape [EXPRESSION, ...] expected"
maps "without span" 2 "map map = x [rows, 1, row_cols]" \
    "the bytes of the swizzle's span expected"
maps "with a box of two" 2 "map map = x [rows, row_cols] swizzle" \
    "the box has 2 dimensions, buffer x has 3"
maps "with a box of none" 2 "map map = x [rows, 0, row_cols] swizzle" \
    "'0' is 0, a box has 1 to 256"
maps "with a box too large" 2 "map map = x [rows * 99, 1, 8] swizzle" \
    "a box has 1 to 256"
maps "with another span" 2 "map map = x [rows, 1, row_cols] 48" \
    "'48' is 48; a swizzle's span has 0 (none), 32, 64 or 128"
maps "that the engine refuses" 2 "map map = x [rows, 1, 4] swizzle" \
    "boxes/run.def:10: "
maps "twice" 2 "map map = x [1, 1, 8] 0\nmap map = x [1, 1, 8] 0" \
    "field map is bound twice"
cp boxes.def boxes/run.def
for i in 1 2 3 4 5 6 7 8; do
    echo "map m$i = x [1, 1, 8] 0"
done >>boxes/run.def
expect "too many maps" 2 run ./boxes $on
says "are refused" "run.def:19: more than 8 maps"
for i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
    printf '#from --buffer b%d\nbuffer b%d [4] f32 in zeros "-"\n' "$i" "$i"
done >boxes/run.def
expect "too many buffers" 2 run ./boxes $on
says "are refused, by the file as no origin is kept of the last" \
    "boxes/run.def:34: more than 16 buffers"
sed -i 's/buffer b15 \[4\]/buffer b15 [none]/; 33,34d' boxes/run.def
expect "the last buffer is wrong" 2 run ./boxes $on
says "is told by its origin" "groat: --buffer b15: "

# ---- reference.c -----------------------------------------------------------------

rm -r bad/args.h
cp my_reduce/args.h bad/args.h
sed -i 's/my_reduce/bad/' bad/args.h
reference() {
    printf '#include "run.h"\n#include <stdlib.h>\n%s\n' "$2" >bad/reference.c
    expect "a reference that $1" 2 run ./bad $on --timeout 1
    says "a reference that $1: says so" "$3"
}
reference "does not compile" "void reference(const struct run *run) { x; }" \
    "bad/reference.c does not compile"
says "the compiler's words" "reference.c:3"
sed -i 's/^param  cols .*/&\nparam  sync int 0..1 0 - "as a function of unistd.h"/' bad/params.def
reference "has a constant called as a function" "void reference(const struct run *run)
{
    abort();
}" "reference.c crashed: Aborted"
sed -i '/^param  sync/d' bad/params.def
reference "reads past the end" "void reference(const struct run *run)
{
    for (int i = 0; i < 1 << 20; i++)
        *run->y += run->x[i];
}" "it may have reached past the end of a buffer"
says "its line" "bad/reference.c:6 crashed: Segm"
reference "divides by 0" "void reference(const struct run *run)
{
    *run->y = (int)run->rows / (int)(run->rows - 5);
}" "crashed: Floating point exception"
says "the line of a division" "reference.c:5 crashed: Floating"
reference "crashes" "void reference(const struct run *run) { abort(); }" \
    "reference.c crashed: Aborted"
reference "reads past a buffer" "static volatile float last;
void reference(const struct run *r) { last = r->y[r->rows]; }" \
    "past the end of a buffer"
reference "hangs" "void reference(const struct run *run) { for (;;) ; }" \
    "ran for 1 s"
reference "exits" "void reference(const struct run *run) { exit(3); }" \
    "exited with 3"
reference "exits as if all were well" \
    "void reference(const struct run *run) { exit(0); }" "exited with 0"
cat >slow_c++ <<'END'
#!/bin/sh
case "$*" in
*"-x c "*) exec sleep 60 ;;
*) exec c++ "$@" ;;
esac
END
chmod +x slow_c++
GROAT_CXX=$work/slow_c++
export GROAT_CXX
reference "takes for ever to compile" "void reference(const struct run *run) { }" \
    "bad/reference.c: $GROAT_CXX compiled it for 1 s and was ended"
unset GROAT_CXX
printf '#include "run.h"\nvoid reference(const struct run *r) { (void)r; }\n' \
    >bad/reference.c
expect "a reference that writes nothing" 1 run ./bad $on
answers "its output is no number" "expected nan"
answers "nor is its error" "error     nan of the expected norm of y"

# Bytes that neither side wrote differ; leftover processes are killed.
cat >bad/run.def <<'END'
buffer x [64] i32 out exact "of which nothing is written"
buffer y [4]  f64 out relative(1e-9) "large numbers"
grid   1
END
cat >bad/args.h <<'END'
struct other { int i; };
struct bad_args {
    unsigned long long int x; unsigned long long y;
};
END
printf 'void reference(const struct run *r) { (void)r; }\n' >bad/reference.c
sed -i 's|GROAT_DEVICE void run(.*|GROAT_DEVICE void run(const bad_args \&) {}\n#if 0|; s|^} // namespace bad|#endif\n&|' bad/bad.h
expect "a kernel and a reference that write nothing" 1 run ./bad $on
answers "are no agreement" "first x[0], expected 1515870810 (reference.c may not have written it), got"
cat >bad/reference.c <<'END'
#include "run.h"
#include <unistd.h>
void reference(const struct run *run)
{
    for (int i = 0; i < 64; i++)
        run->x[i] = 0x7f7f7f7f;
    for (int i = 0; i < 4; i++)
        run->y[i] = 1e200 * (i + 1);
    if (fork() == 0)
        for (;;)
            pause();
}
END
expect "large numbers, and a child that stays" 1 run ./bad $on --timeout 5
answers "are compared" "first y[0], expected 9.99"
[ -z "$(ls "$TMPDIR")" ] || fail "no folder is left" "$(ls "$TMPDIR")"
pass "no folder is left"

# Fields of all sizes lie where the compiler has them.
mkdir fields
cat >fields/params.def <<'END'
family fields "writes its arguments"
param one int 1..1 1 - "of no use"
launch block_x = 64
launch shared = 0
launch args = 24
entry fields
END
cat >fields/args.h <<'END'
#pragma once
struct fields_args {
    unsigned char a;
    unsigned short b;
    unsigned char c;
    unsigned char d;
    int e;
    unsigned char f;
    unsigned long long y;
};
END
cat >fields/fields.h <<'END'
#include "params.h"
#include "../common/vendor.h"
#include "args.h"
GROAT_KERNEL(fields_args)
{
    using namespace groat;
    const u32 all[] = {args.a, args.b, args.c, args.d, (u32)args.e, args.f};
    if (thread_index() == 0)
        for (u32 i = 0; i < 6; i++)
            global_store4(args.y + 4 * i, all[i]);
}
END
cat >fields/run.def <<'END'
arg a int 0..255 201 - "one byte"
arg b int 0..65535 50002 - "two"
arg c int 0..255 203 - "one"
arg d int 0..255 204 - "one"
arg e int -9..9 -5 - "four"
arg f int 0..255 206 - "one"
buffer y [6] i32 out exact "all of them"
END
cat >fields/reference.c <<'END'
#include "run.h"
void reference(const struct run *run)
{
    const long long all[] = {run->a, run->b, run->c, run->d, run->e, run->f};
    for (int i = 0; i < 6; i++)
        run->y[i] = (int)all[i];
}
END
expect "fields of one, two and four bytes" 0 run ./fields $on
answers "have their values" "verified  yes, all 24 bytes"
sed -i 's/    unsigned char f;/#if 1\n&\n#else\n    double g;\n    double h;\n#endif/' fields/args.h
expect "fields that depend on a condition" 2 run ./fields $on
says "are not understood" "launch args of params.def is 24 bytes, and the fields of args.h"

# The mark that some editors put in front of UTF-8.
cp -r my_reduce marked
sed -i 's/my_reduce/marked/g' marked/*.h marked/*.def marked/*.c
mv marked/my_reduce.h marked/marked.h
for file in params.def run.def marked.h args.h; do
    { printf '\357\273\277' && cat marked/$file; } >file.new
    mv file.new marked/$file
done
expect "files with a byte order mark" 0 run ./marked $on
{ printf '\357\273\277' && echo '{"spec": "plain_read"}'; } >marked.jsonl
expect "and a manifest" 0 prewarm marked.jsonl --target cpu:gfx950

# ---- what a comparison must not miss -----------------------------------------------

mkdir odd
cat >odd/params.def <<'END'
family odd "rounds to e4m3, and does one thing wrong"
param what enum nothing|leave|spoil nothing - "what is wrong"
derive half = 32 ; elements "of y"
launch block_x = 64
launch shared = 0
launch args = 24
entry odd_{what}
END
cat >odd/args.h <<'END'
#pragma once
struct odd_args {
    unsigned long long x;
    unsigned long long y;
    unsigned long long z;
};
END
cat >odd/odd.h <<'END'
#include "params.h"
#include "../common/convert.h"
#include "args.h"
GROAT_KERNEL(odd_args)
{
    using namespace groat;
    const u32 i = thread_index();
    const float x = bits_float(global_load4(args.x + i * 4));
    if (params::what != params::what_leave || x < 432)
        global_store1(args.y + i, float8_of<e4m3>(float_bits(x)));
    if (params::what == params::what_spoil && i == 5)
        global_store4(args.x + i * 4, 0u);
}
END
cat >odd/reference.c <<'END'
#include "run.h"
void reference(const struct run *run)
{
    for (int i = 0; i < 64; i++)
        run->y[i] = run->x[i];
}
END
buffers='buffer x [64] f32 in random(400, 500) "numbers"
buffer y [64] e4m3 out exact "rounded"
buffer z [4] f16 inout poison exact "left alone, a NaN"'
printf '%s\n' "$buffers" >odd/run.def
expect "a NaN that is left alone" 0 run ./odd $on
expect "the largest numbers, not written" 1 run ./odd:what=leave $on
answers "are missed" "expected 448, got nan (0x7f), as it was filled before the launch"
cp odd/odd.h odd.h
sed -i 's/    const float x = .*/    float x;\n    if (i != 7)\n        x = bits_float(global_load4(args.x + i * 4));/' odd/odd.h
expect "a local that may be unset, beside wrong bytes" 1 run ./odd $on
says "it is told" "a local variable or array that nobody set decides what is in y[7] (the compiler"
says "with its line" "'x' may be used uninitialized, declared at odd/odd.h:"
answers "and so are they" "bytes are wrong; first y[7], expected"
mv odd.h odd/odd.h
expect "an input that is changed" 1 run ./odd:what=spoil $on
answers "is named" "odd_spoil changed x[5], which is an input"
printf '%s\ngrid 1, 1, 65536\n' "$buffers" >odd/run.def
expect "a grid that CUDA has not" 2 run ./odd $on
says "is told" "the grid of odd is 1, 1, 65536 blocks; CUDA allows 65535 of Y and of Z"
expect "others begin" 1 run ./odd --target cpu:gfx950 --timeout 1
says "and go on" "has not ended in 1 s"
printf 'arg n int 0..64 7 - "of x"\n%s\n' "$buffers" | sed 's/400, 500/n - 8, -4/' >odd/run.def
head -c 64 /dev/zero | tr '\000' '\310' >four.raw
expect "random numbers up to an argument" 0 run ./odd $on --arg n=4 --expect y=four.raw
expect "from another" 1 run ./odd $on --arg n=0 --expect y=four.raw
expect "a range that ends before it begins" 2 run ./odd $on
says "is told" "odd/run.def:2: random from -1 to -4 of buffer x: the first must be no more than"
printf 'arg half int 1..9 5 - "of y"\n%s\n' "$buffers" >odd/run.def
expect "an argument with a constant's name" 2 run ./odd $on
says "is refused" "odd/run.def:1: half is a constant of params.def already"
printf '%s\n' "$buffers" >odd/run.def
mv odd/reference.c odd/reference.old
run run ./odd $on --output z=z.raw
expect "one output of two with a file" 0 run ./odd $on --expect z=z.raw
answers "the other is named" "yes, all 8 bytes; nothing says what y should be"
expect "in JSON" 0 run ./odd $on --expect z=z.raw --json
answers "it is named, too" '"not_compared": ['
expect "a bench of a folder's build" 0 bench build ./odd $on
sed -i 's/unsigned long long z/uint64_t z/' odd/args.h
expect "a type that device code lacks" 2 run ./odd $on
says "is told" "odd/args.h:5: a type expected: an integer, float, double"
expect "a folder that is none" 2 run ./none_such $on
says "is told" "there is no folder of that name with a params.def"
sed -i 's/uint64_t z/unsigned long long z/' odd/args.h
cp odd/params.def odd/params.old
sed -i 's/launch args.*/launch args = 4/' odd/params.def
expect "launch args of another size than args.h" 4 run ./odd $on
says "its line is told" "odd/params.def:$(grep -n 'launch args' odd/params.def | cut -d: -f1): launch args is"
mv odd/params.old odd/params.def
head -c 130 y.npy >short.npy
expect "a .npy file that ends early" 2 run ./my_reduce $on --expect y=short.npy
says "only its data counts" "short.npy has 2 bytes behind its header, buffer y has"
"$groat" new skewed --from reduce >/dev/null
sed -i 's/sum = block_reduce/sum = wave_index() == 1 ? sum : block_reduce/' skewed/skewed.h
expect "a finding in a picture's JSON" 1 draw ./skewed $on -o skewed.svg --json
has "it has the places" finding
answers "and the line" '"function": "run"'
finish
