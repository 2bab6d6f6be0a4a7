#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The tool's whole answers, as they stand in answers.txt: a command after "$ ",
# what it prints, and "= " with its exit code.  What differs from run to run or
# from compiler to compiler is a "#" there: times, sizes of code, keys, dates.
#
#   sh answers.sh --update   writes answers.txt anew; read its diff.
. "$(dirname "$0")/common.sh"

if c++ --version 2>/dev/null | grep -q clang; then
    echo "SKIP: c++ is clang, which warns in other words"
    exit 77
fi
told=$here/answers.txt
now=$work/answers.txt
GROAT_CUDA=${top_builddir:-.}/tests/shim/.libs/libcuda_shim.so
[ -e "$GROAT_CUDA" ] || GROAT_CUDA=
GROAT_CUDA=$(readlink -f "${GROAT_CUDA:-/dev/null}")
SHIM_CUDA=1
export GROAT_CUDA SHIM_CUDA
unset GROAT_CXX GROAT_TARGET

kernels=$tree/tests/kernels/cuda/kernels.cu
loader=tile_loader_lds
decode=heads=2,kv_heads=1,head_dim=64,sequences=1,keys=40
url=file://$work/remote
mkdir "$work/remote" "$work/cwd"
cd "$work/cwd" || exit 1
# One kernel each: what is listed by key has another order with each compiler.
printf '{"spec": "tile_loader_lds:tile_rows=16", "targets": ["cpu:gfx950"]}\n' \
    >one.jsonl
printf '{"spec": "tile_loader_lds:dtype=f7"}\n' >bad.jsonl
: >trust

# Puts a "#" for what need not be the same.
steady() {
    sed -E -e "s,$groat,GROAT,g; s,$work,DIR,g; s,$tree,TREE,g" \
        -e '/doesn.t fully support/d' \
        -e 's/\b[0-9a-f]{32}\b/#KEY/g; s/\b[0-9a-f]{7,12}\.\.\./#KEY/g' \
        -e 's/\b[0-9A-Za-z+\/]{43}=/#PUBLIC/g; s/\b[0-9a-f]{64}\b/#PUBLIC/g' \
        -e 's/20[0-9-]{8}T[0-9:]{8}Z/#DATE/g' \
        -e 's/c\+\+ [^"]* build #KEY/#MAKER/' \
        -e 's/[0-9.]+ (ns|us|ms|s|GB\/s|KiB|B of code|B written)\b/# \1/g' \
        -e 's/  [0-9]+ +[0-9.]+( +- )/  # #\1/' \
        -e 's/("[a-z_]*(_ms|_us|_ns|_s|_bytes|per_s|bytes|norm|page_count|us)": )[0-9][0-9.e+-]*/\1#/' \
        -e 's,/[0-9a-f]{2}/#KEY,/#KEY,g; s/(#KEY|_bytes) +[0-9]+/\1 #/g; s/^[0-9]+(  #DATE)/#\1/' \
        -e 's/("(seconds|jobs)": )[0-9.e+-]+/\1#/; s/0x[0-9a-f]{6,}/#ADDRESS/g' \
        -e 's/(compiler #MAKER\\n)option.*"/\1#OPTIONS"/' \
        -e 's/ +$//; s/the error is [0-9.e+-]+/the error is #/; s/[0-9]+ bytes/# bytes/g'
}

# tell WORDS...: the command as it stands in this file, and its answer.
tell() {
    printf '$ groat %s\n' "$*" |
        sed "s,$groat,GROAT,g; s,$work,DIR,g; s,$tree,TREE,g" >>"$now"
    code=0
    "$groat" "$@" >"$out" 2>"$err" </dev/null || code=$?
    { cat "$out"; sed 's/^/! /' "$err"; } | steady >>"$now"
    echo "= $code" >>"$now"
}

# both WORDS...: in words and as JSON.
both() {
    tell "$@"
    tell "$@" --json
}

on="--target cpu:sm_90a"

tell --version
both help key

both devices
both key $loader $on
both build $loader $on --target cpu:gfx950
both build $loader:dtype=f7 $on
both run $loader:tile_rows=16,tile_cols=64 --report banks
both run $loader:tile_rows=16,tile_cols=64 $on --valid-rows 33
both run kv_cache_append $on
both explain $loader $on
both explain $loader:tile_rows=32 $on
both explain subtile_loader $on
both attention $decode $on
both attention $decode,mask=causal,window=8 $on
both cache path
both cache stat
both cache list
both cache show ffffffffffff
both cache verify
both prewarm one.jsonl --target cpu:gfx950 --check
both prewarm one.jsonl --target cpu:gfx950
both prewarm one.jsonl --target cpu:gfx950
both prewarm one.jsonl --only-target cpu:sm_90a
both prewarm bad.jsonl $on
both cache keygen key
"$groat" cache keygen second.key | tail -n 1 >trust
both cache export -o one.groat --target cpu:gfx950
both cache export -o two.groat
tell build $loader:tile_rows=16 --target cpu:gfx950 --cache-dir small
tell cache export -o small.groat --cache-dir small
both cache diff one.groat small.groat
both cache diff one.groat one.groat
both cache diff two.groat two.groat
both cache sign one.groat --key second.key
both cache verify one.groat --trust trust
both cache verify two.groat --trust trust
both cache import one.groat --cache-dir other --trust trust
both cache import two.groat --cache-dir other --trust trust
both cache merge one.groat two.groat -o three.groat
both build $loader:tile_rows=16 --target cpu:gfx950 --cache-dir empty \
    --bundle one.groat --trust trust
both fleet ls --remote "$url"
tell fleet push --from small.groat --remote "$url" --remote-key second.key
tell fleet push --remote "$url" --remote-key second.key --cache-dir small --json
tell fleet ls --remote "$url"
both fleet check --remote "$url" --trust trust
tell fleet check one.jsonl --remote "$url" --trust trust --target cpu:gfx950
both fleet pull one.jsonl --remote "$url" --trust trust --target cpu:gfx950 \
    --cache-dir pulled
tell fleet pull --remote "$url" --trust trust --cache-dir pulled
tell fleet check --remote "$url" --remove
tell fleet push --from none.groat --remote "$url" --remote-key second.key
tell fleet pull --remote "$url" --cache-dir pulled
both fleet gc --remote "$url" --older-than 1
both judge "$kernels" --entry right_warps --block 64 --buffer x=64 --buffer y=64
both judge "$kernels" --entry wrong_end --block 256 --grid 4 --buffer x=n \
    --buffer y=1024 --arg n=1000 --arg a=2.5
both judge "$kernels" --entry wrong_transpose --block 32,8 --grid 2,2 \
    --buffer in=64,64 --buffer out=64,64 --arg n=64
both judge "$kernels" --entry nothing --block 1
for count in 64 65; do
    {
        printf '__global__ void many(float *p0'
        for n in $(seq $((count - 1))); do
            printf ', int p%d' "$n"
        done
        printf ') { p0[0] = p1; }\n'
    } >many.cu
    tell judge many.cu --entry many --block 1 --buffer p0=1
done
both new mine --from reduce
both families ./mine
cp mine/run.def right.def
while IFS= read -r line; do
    printf '# %s\n' "$line" >>"$now"
    { cat right.def && printf '%b\n' "$line"; } >mine/run.def
    tell run ./mine $on
done <<'EOF'
arg
arg 1x int 1..2 1 - "m"
arg rows int 1..2 1 - "m"
arg x int 1..2 1 - "m"
arg k long 1..2 1 - "m"
arg k int
arg k int 1
arg k int 2..1 1 - "m"
arg k int 1..2
arg k int 1..99999999999999999999 1 - "m"
arg k int 1..2 3 - "m"
arg k int 1..2 (rows) - "m"
arg k int 1..2 1
arg k int 1..2 1 -
arg k int 1..2 1 - "m" more
arg k int 1..2 1 - "m\0"
arg k float 1..2 1 - "m"
arg k float - one - "m"
arg k float - 0x1 - "m"
arg k float - 1e999 - "m"
buffer
buffer z
buffer z [rows f32 in zeros "m"
buffer z [1, 1, 1, 1, 1, 1, 1, 1, 1] f32 in zeros "m"
buffer z [rows]
buffer z [rows] f32
buffer z [rows] f33 in zeros "m"
buffer z [rows] f32 to zeros "m"
buffer z [rows] f32 in
buffer z [rows] f32 in noise "m"
buffer z [rows] f32 in random(1) "m"
buffer z [rows] f32 in random(2, 1) "m"
buffer z [rows] f32 in random(1, 2 "m"
buffer z [rows] i8 in random(-128, 128) "m"
buffer z [rows] u16 in random(-1, 2) "m"
buffer z [rows] f32 in file(../z) "m"
buffer z [rows] f32 in file() "m"
buffer z [rows] f32 in file(a/../../z) "m"
buffer z [rows] f32 out
buffer z [rows] f32 out near "m"
buffer z [rows] f32 out ulp(-1) "m"
buffer z [rows] f32 out ulp(x) "m"
buffer z [rows] f32 out file(/z) exact "m"
buffer z [rows] f32 out file(z)
buffer z [rows] f32 in zeros
buffer z [rows] f32 in zeros "m" more
buffer z [rows + nothing] f32 in zeros "m"
buffer z [0 - 1] f32 in zeros "m"
bind
bind rows
bind rows =
bind rows = 1\nbind rows = 2
bind nothing = 1
map
map x = y
map x = y [1]
map 1 = y [1] 0
grid 1
moved 1\nmoved 2
moved 0 - 1
moved nothing
other
EOF
cp right.def mine/run.def
both run ./mine $on
sed -i 's/sum += /sum -= /' mine/mine.h
both run ./mine $on
both draw ./mine $on -o mine.svg
both record -o used.jsonl -- "$groat" run $loader $on
both cache gc --max-bytes 100K
both cache clear

if [ "${1-}" = --update ]; then
    cp "$now" "$told"
    exit 0
fi
if cmp -s "$told" "$now"; then
    pass "$(grep -c '^\$ ' "$now") answers"
else
    diff -u "$told" "$now" | head -n 60
    fail "the answers differ from answers.txt" \
        "sh tests/cli/answers.sh --update, if they should"
fi
finish
