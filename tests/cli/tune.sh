#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# groat tune: what is measured on a cpu target (the judge's time, which is good
# for nothing but trying this out), recorded and taken; choices that hang or
# crash; manifests of what was tuned.
. "$(dirname "$0")/common.sh"

command -v c++ >/dev/null || { skip "tune: no C++ compiler"; finish; }
shape=heads=2,kv_heads=1,head_dim=64,sequences=1,keys=40
on="--target cpu:sm_90a"
manifest=$work/tuned.jsonl

# A compiler that does not end for one choice, and ends the process that asks
# for another one, as long as there is no file "calm".
cat >"$work/c++" <<'END'
#!/bin/sh
case "$* " in *"-x c++ - "*) ;; *) exec c++ "$@" ;; esac
[ -e "$WORK/calm" ] && exec c++ "$@"
source=$TMPDIR/source.$$
cat >"$source"
has() { grep -q "constexpr int $1;" "$source"; }
if has "warps = 2" && has "stages = 3"; then
    echo $$ >>"$WORK/hangs"
    exec sleep 300
fi
if has "warps = 4" && has "stages = 4"; then
    kill -KILL $PPID
    exit 1
fi
exec c++ "$@" <"$source"
END
chmod +x "$work/c++"
export WORK="$work" GROAT_CXX="$work/c++"

# A comma may follow the shape.
expect "choices that hang and crash" 0 tune "$shape, " $on --json \
    --timeout 20 --output "$manifest"
json "its answer is JSON"
answers "the device is named" '"device": "cpu, 4 multiprocessors"'
lacks "no choice is left open" "warps=0"
answers "the one that hangs is noted" "it hung and was ended after 20 s"
answers "the one that crashes is noted" "its process ended with exit code 137"
[ "$(grep -c '"problem"' "$out")" -eq 2 ] && pass "no other one is out" ||
    fail "no other one is out" "$(grep '"problem"' "$out")"
sleep 1
if kill -0 "$(tail -1 "$work/hangs")" 2>/dev/null; then
    fail "its compiler is ended, too" "$(cat "$work/hangs")"
else
    pass "its compiler is ended, too"
fi
: >"$work/calm"

expect "a score that names nothing" 2 tune "$shape" $on --score 'score*slope'
says "is refused" "arguments.named has no 'slope'"
[ "$(wc -l <"$err")" -eq 1 ] && pass "in one line" ||
    fail "in one line" "$(cat "$err")"

expect "what was tuned is taken" 0 attention "$shape" $on
answers "it is said" "(tuned)"
expect "not of a shape with another length" 0 attention "$shape,page=8" $on
lacks "it is not said" "(tuned)"
expect "the store is sound" 0 cache verify
expect "it lists the record" 0 cache list
key=$(awk '$2 < 100 { print $1 }' "$out")
expect "and shows it" 0 cache show "$key"
answers "with its device" "device cpu, 4 multiprocessors"
expect "a store is made again for its kernels alone" 0 prewarm \
    --from-store "$XDG_CACHE_HOME/groat/groat.sqlite" --cache-dir "$work/again"

expect "another store by the manifest" 0 prewarm "$manifest" \
    --cache-dir "$work/other"
expect "has it" 0 attention "$shape" $on --cache-dir "$work/other"
answers "and its choice" "(tuned)"
expect "a check finds both" 0 prewarm --check "$manifest" \
    --cache-dir "$work/other"
answers "it counts the choice" "1 tuned choices, 0 missing"
sed 's/, "tuned": {.*}}/}/' "$manifest" >"$work/bare.jsonl"
expect "the kernel alone" 0 prewarm "$work/bare.jsonl" --cache-dir "$work/bare"
expect "is not what is checked" 1 prewarm --check "$manifest" \
    --cache-dir "$work/bare"
says "what is missing is told" "tuned.jsonl:1: the tuned choice is missing"
expect "in JSON, too" 1 prewarm --check "$manifest" --cache-dir "$work/bare" \
    --json
answers "with its number" '"tuned_missing": 1'
expect "a check puts nothing there" 1 prewarm --check "$manifest" \
    --cache-dir "$work/third"
expect "so" 0 attention "$shape" $on --cache-dir "$work/third"
lacks "there is none" "(tuned)"

# refuses_line WORDS SED: a manifest whose line is changed.
refuses_line() {
    sed "$2" "$manifest" >"$work/bad.jsonl"
    expect "a line with $2" 2 prewarm "$work/bad.jsonl" --cache-dir "$work/bad"
    says "why: $2" "$1"
}
refuses_line "a decode has no 'hds'" 's/"heads/"hds/'
refuses_line "is of another kernel than the line's spec, paged_attention_decode:" \
    's/\(spec.*stages=\)[0-9]*/\17/'
refuses_line "none that is 0" 's/least=[0-9]*/least=0/2; s/,least=[0-9]*"/,least=0"/'
refuses_line "device is no line of 1" 's/"cpu, 4/"cpu\\n4/'
refuses_line '"tuned" is no object' 's/"tuned": {.*}}/"tuned": 3}/'

{
    cat "$manifest"
    echo '{bad'
} >"$work/bad.jsonl"
expect "a bad line behind a record" 2 prewarm "$work/bad.jsonl" \
    --cache-dir "$work/bad2"
expect "nothing is recorded then" 0 cache list --cache-dir "$work/bad2"
lacks "nothing is there" "paged_attention_decode"
sed 's/"heads/"hds/' "$manifest" >"$work/bad.jsonl"
expect "a check reads the record, too" 2 prewarm --check "$work/bad.jsonl" \
    --cache-dir "$work/bad2"
names=
for i in $(seq 64); do
    names="$names --arg a$i=1 --buffer b$i=16"
done
# shellcheck disable=SC2086
expect "too many names" 2 tune "$shape" $on --score "score+a1" $names
says "too many names: their number" "more than 64 --arg and --buffer"
expect "a name without a value" 2 tune "$shape" $on --arg a
GROAT_CACHE_DIR=/proc/none expect "no store" 1 tune "$shape" $on
says "no store: is said first" "there is no store to record in"
lacks "no store: nothing is measured" "chosen"
expect "without a shape" 2 tune
expect "a shape that chooses" 2 tune "$shape,warps=2" $on
says "why" "allowed: a shape without"
expect "a shape that is none" 2 tune "heads=3,kv_heads=2" $on
expect "more than the shape has" 2 tune "$shape,batch=2" $on
says "its words" "batch of a decode is 2; allowed: up to its sequences, 1"
expect "a part of what it may have" 0 attention \
    "$shape,batch=1,length=17" $on --no-cache
expect "a manifest that cannot be written" 1 tune "$shape" $on \
    -o "$work/no/where.jsonl"
if [ -z "$(ls -A "$work/tmp" | grep -v source)" ]; then
    pass "nothing is left over"
else
    fail "nothing is left over" "$(ls "$work/tmp")"
fi
finish
