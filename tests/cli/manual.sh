#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# groat(1) lists every command and option of the tables and no other, every
# member of each JSON answer and no other, and its examples work.
. "$(dirname "$0")/common.sh"

page=$tree/man/groat.1
"$groat" completion-data >"$work/data" || fail "completion-data"
sed 's/\\-/-/g; s/\\f[BIR]//g' "$page" >"$work/plain"

cut -f 1,3 "$work/data" | sed -n 's/^command	//p' | sort -u >"$work/commands"
cut -f 1,3 "$work/data" | sed -n 's/^option	//p' | sort -u >"$work/options"
cut -f 1-3 "$work/data" | sed -n 's/^subcommand	cache	//p' |
    sort -u >"$work/subs"
for list in commands options subs; do
    [ -s "$work/$list" ] && pass "there are $list" || fail "there are $list"
done

# The first words of the paragraphs tagged .TP, by section.
tags() {
    awk -v want="$1" '
        /^\.SH / { on = $0 == ".SH " want }
        tagged { print; tagged = 0 }
        on && /^\.TP/ { tagged = 1 }' "$work/plain"
}
tags COMMANDS | cut -d ' ' -f 1 | sort -u >"$work/page-commands"
tags OPTIONS | cut -d ' ' -f 1 | sed 's/^--//' | sort -u >"$work/page-options"
tags COMMANDS | sed -n 's/^cache \([a-z]*\).*/\1/p' | sort -u >"$work/page-subs"
for list in commands options subs; do
    missing=$(comm -23 "$work/$list" "$work/page-$list" | tr '\n' ' ')
    extra=$(comm -13 "$work/$list" "$work/page-$list" | tr '\n' ' ')
    [ -z "$missing" ] && pass "the page has all $list" ||
        fail "the page has all $list" "missing: $missing"
    [ -z "$extra" ] && pass "the page has no other $list" ||
        fail "the page has no other $list" "unknown: $extra"
done

# Help shows what the parser accepts: each option of each command is accepted by
# name, that is, refused only for its value.
cut -f 1,2,3,4 "$work/data" | grep '^option' |
    while IFS='	' read -r _ command option value; do
        [ -n "$value" ] || continue
        code=0
        "$groat" "$command" "--$option" "" >"$out" 2>"$err" || code=$?
        if [ "$code" -eq 2 ] && grep -q "not an empty word" "$err"; then
            echo "ok $command takes --$option"
        else
            echo "FAIL $command takes --$option"
        fi
    done >"$work/taken"
cat "$work/taken"
if grep -q FAIL "$work/taken" || ! grep -q '^ok' "$work/taken"; then
    fail "the parser takes what help shows"
else
    pass "the parser takes what help shows"
fi

# members NAME: the members that JSON ANSWERS lists for a command, which are
# bold below its tag.  Members "of run" and "of cache stat" are listed there.
members() {
    awk -v want="$1" '
        /^\.SH / { on = $0 == ".SH JSON ANSWERS" }
        on && tagged { mine = $0 == want; tagged = 0; next }
        /^\.TP/ { tagged = 1; next }
        on && mine { print }' "$work/tagged" |
        grep -o '\\fB[^\\]*' | sed 's/^...//'
}
sed 's/\\-/-/g' "$page" >"$work/tagged"
# answer NAME WORDS...: runs the tool and compares.
answer() {
    name=$1
    shift
    run "$@" --json
    json "$name is JSON"
    {
        members all
        members "$name"
        case $name in
        demo) members run && members 'cache stat' ;;
        'cache show') members 'cache list' && members run ;;
        build | run) members run ;;
        esac
    } | sort -u >"$work/page-members"
    sed -n 's/^ *"\([a-z_]*\)": .*/\1/p' "$out" | sort -u >"$work/members"
    extra=$(comm -23 "$work/members" "$work/page-members" | tr '\n' ' ')
    [ "$(grep -c . "$work/members")" -gt 1 ] && [ -z "$extra" ] &&
        pass "the page has the members of $name" ||
        fail "the page has the members of $name" "missing: $extra"
    members "$name" | sort -u >"$work/mine"
    case $name in
    devices | run) return ;; # a GPU's, and those of wrong bytes
    esac
    extra=$(comm -13 "$work/members" "$work/mine" | tr '\n' ' ')
    [ -s "$work/mine" ] && [ -z "$extra" ] &&
        pass "the page has no other members of $name" ||
        fail "the page has no other members of $name" "unknown: $extra"
}
spec=tile_loader_lds
answer run run $spec --target cpu:gfx950
answer run run $spec $spec --target cpu:gfx950
answer all run $spec:tile_rows=7
answer run run $spec --target cpu:gfx950 --report banks
answer draw draw $spec -o "$work/picture.svg"
answer build build $spec --target cpu:gfx950
GROAT_CXX=$work/none
export GROAT_CXX
answer run run $spec --target cpu:gfx950 --no-cache
unset GROAT_CXX
answer source source $spec
answer key key $spec --target cpu:gfx950
answer families families
answer new new "$work/fresh"
answer devices devices
answer doctor doctor
answer 'cache path' cache path
answer 'cache stat' cache stat
answer 'cache list' cache list
answer 'cache show' cache show \
    "$("$groat" key $spec --target cpu:gfx950 | cut -c 1-8)"
answer 'cache verify' cache verify
answer 'cache export' cache export --output "$work/one"
answer 'cache keygen' cache keygen "$work/key"
answer 'cache sign' cache sign "$work/one" --key "$work/key"
answer 'cache verify BUNDLE' cache verify "$work/one"
answer 'cache merge' cache merge "$work/one" --output "$work/two"
"$groat" cache export --target cuda:sm_90a --output "$work/none" >/dev/null
answer 'cache diff' cache diff "$work/one" "$work/none"
answer 'cache import' cache import "$work/one" --allow-unsigned
mkdir "$work/remote"
GROAT_REMOTE=file://$work/remote GROAT_TRUST=$work/trust
export GROAT_REMOTE GROAT_TRUST
"$groat" cache keygen "$work/fleet-key" >"$work/trust"
answer 'fleet push' fleet push --remote-key "$work/fleet-key"
answer 'fleet ls' fleet ls
answer 'fleet check' fleet check --remove
answer 'fleet pull' fleet pull
answer 'fleet gc' fleet gc --older-than 1
unset GROAT_REMOTE GROAT_TRUST
answer 'cache gc' cache gc
answer 'cache clear' cache clear
answer bench bench hit --target cpu:gfx950
answer demo demo --target cpu:gfx950
answer help help
answer --version --version
# Members for GPUs or wrong bytes: at least the tool's source has such names.
for name in $(members devices) $(members run); do
    grep -q "\"$name\"" "$tree"/src/cli/*.c "$tree"/src/cli/*/*.c ||
        fail "the page has no other members" "unknown: $name"
done
for command in $(cat "$work/commands"); do
    grep -q "^$command" "$work/tagged" ||
        fail "JSON ANSWERS has $command"
done

# Examples that need no vendor's compiler, verbatim.
awk '/^\.SH EXAMPLES/ { on = 1 } /^\.SH SEE/ { on = 0 }
    on && /^groat / { print }' "$work/plain" >"$work/examples"
[ "$(grep -c . "$work/examples")" -ge 3 ] && pass "there are examples" ||
    fail "there are examples"
cd "$work" || exit 1 # where their files go
while read -r _ words; do
    case $words in
    *cuda:* | *hip:*)
        skip "example needs a vendor's compiler: groat $words"
        continue
        ;;
    esac
    # shellcheck disable=SC2086
    expect "example: groat $words" 0 $words
done <"$work/examples"
finish
