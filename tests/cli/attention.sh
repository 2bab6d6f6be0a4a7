#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# groat attention: shapes that run and are verified, and refusals.
. "$(dirname "$0")/common.sh"

command -v "${GROAT_CXX:-c++}" >/dev/null 2>&1 || {
    skip "attention on cpu targets: there is no C++ compiler"
    exit 77
}

for shape in "keys=60,sequences=2" \
    "dtype=f16,head_dim=64, q_len=2,heads=6,layout=head_page,lse=1,sink=1" \
    "kv_dtype=e4m3,kv_scale=token,page=5,keys=90,alibi=1,cap=20" \
    "head_dim=96,value_dim=64,keys=60,sequences=2,varied=1" \
    "page=0,mask=window,seen=40,keys=150,batch_invariant=1,varied=1"; do
    expect "$shape" 0 attention "$shape" --target cpu:sm_80 --no-cache
    answers "$shape is verified" "verified: the norm of the error is "
done
expect "two shapes in JSON" 0 attention keys=60,sequences=2 page=3,keys=9 \
    --target cpu:sm_90a --no-cache --json
is_json "$out" && pass "it is JSON" || fail "it is JSON" "$(head -c 300 "$out")"
[ "$(grep -c '"verified": true' "$out")" = 2 ] &&
    pass "both are verified" || fail "both are verified"
for member in us plain_read_us host_us; do
    answers "no time on a cpu target: $member" "\"$member\": null"
done

expect "an LSE" 0 attention keys=60,sequences=2,lse=1 keys=9 --target cpu:sm_80 \
    --no-cache --json
[ "$(grep -c '"lse_error": null' "$out")" = 1 ] &&
    grep -q '"lse_error": [0-9]' "$out" && pass "is compared" ||
    fail "is compared" "$(grep lse_error "$out")"

expect "a score" 0 attention keys=90,sequences=3,q_len=2 --target cpu:sm_90a \
    --no-cache --score "min(score, 3.5) + bias[kv_pos - q_pos + 90] * by" \
    --buffer bias=91 --arg by=2
answers "is verified" "verified: the norm of the error is "
answers "is in the spec" 'score="min(score,3.5)+bias[kv_pos-q_pos+90]*by"'

# refuses WORDS SHAPE OPTION...
refuses() {
    words=$1
    shift
    expect "refused: $*" 2 attention "$@" --no-cache
    says "why: $*" "$words"
}
refuses "a decode has no 'head'; did you mean 'heads'? names: dtype, " head=3
refuses "heads of a decode is '-1'; allowed: a whole number of 32 bits" heads=-1
refuses "kv_dtype of a decode is 'fp8'; allowed: bf16|f16|e4m3" kv_dtype=fp8
refuses "'keys' of a decode has no value: write keys=VALUE" keys
refuses "keys of a decode is given twice" keys=8,sequences=1,keys=9
refuses "scale of a decode is '1e-50'" scale=1e-50
refuses "shape.heads is 7; allowed: 1 to 64 for each of the 2 KV heads" \
    heads=7 --target cpu:sm_80
refuses "a cache of 60000 sequences of 2000000000 keys has more than " \
    keys=2000000000,sequences=60000 --target cpu:sm_80
refuses "shape.score: expression 'score &', column 7: an operator or the end" \
    --score "score &" --target cpu:sm_80
refuses "arguments.named has no 'by', which shape.score names" keys=9 \
    --score "score * by" --target cpu:sm_80
refuses "x is given a value, but --score, which is absent, does not use" \
    --arg x=1 --target cpu:sm_80
refuses "bia is given a value, but --score does not use" --score 'score+bias[0]' \
    --buffer bia=4 --target cpu:sm_80
refuses "--arg by is 'x'; allowed: a number" --arg by=x --target cpu:sm_80
refuses "--buffer b is '0'; allowed: 1 to " --buffer b=0 --target cpu:sm_80
refuses "'by' is not of the form NAME=VALUE" --arg by --target cpu:sm_80
refuses "by is given twice, the second time as 'by=3'" --arg by=2 --arg by=3 \
    --target cpu:sm_80
refuses "products need NVIDIA's mma.sync" --target cpu:gfx950
finish
