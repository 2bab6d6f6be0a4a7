#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# completion-data is complete, and bash offers the words in it.
. "$(dirname "$0")/common.sh"

"$groat" completion-data >"$work/data" || fail "completion-data"
for command in $("$groat" help --json |
    sed -n 's/^      "name": "\(.*\)",$/\1/p'); do
    grep -q "^command	-	$command	" "$work/data" &&
        pass "data has $command" || fail "data has $command"
    for option in $("$groat" help "$command" |
        sed -n 's/^  --\([a-z-]*\).*/\1/p'); do
        grep -q "^option	$command	$option	" "$work/data" &&
            pass "data has $command --$option" ||
            fail "data has $command --$option"
    done
done
for kind in family param argument target subcommand; do
    grep -q "^$kind	" "$work/data" && pass "data has $kind" ||
        fail "data has $kind"
done
bad=$(awk -F '\t' 'NF != 4' "$work/data" | head -n 1)
[ -z "$bad" ] && pass "four fields each" || fail "four fields each" "$bad"

if ! command -v bash >/dev/null 2>&1; then
    skip "bash completion: there is no bash"
    finish
fi

# Splits a line as Readline does, completes its end and prints the offers.
cat >"$work/complete.bash" <<'END'
. "$1"
groat=$2
COMP_LINE=$3
COMP_POINT=${#COMP_LINE}
COMP_WORDBREAKS=$' \t\n"\'><=;|&(:'
COMP_WORDS=()
piece=
for ((i = 0; i < COMP_POINT; i++)); do
    c=${COMP_LINE:i:1}
    case $c in
    ' ') [ -n "$piece" ] && COMP_WORDS+=("$piece"); piece= ;;
    [:=])
        [ -n "$piece" ] && COMP_WORDS+=("$piece")
        COMP_WORDS+=("$c")
        piece=
        ;;
    *) piece+=$c ;;
    esac
done
COMP_WORDS+=("$piece")
COMP_WORDS[0]=$groat
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
compopt() { :; }
_groat
printf '%s\n' "${COMPREPLY[@]}"
END
offers() {
    bash "$work/complete.bash" "$tree/completions/groat.bash" "$groat" "$2" \
        >"$out" 2>"$err"
    if [ -s "$err" ]; then
        fail "$1" "$(head -n 1 "$err")"
    elif grep -F -x -q -e "$3" "$out"; then
        pass "$1"
    else
        fail "$1" "'$2' offers: $(tr '\n' ' ' <"$out" | head -c 200)"
    fi
}
bash -c '. "$1"; complete -p groat' - "$tree/completions/groat.bash" >"$out"
grep -q -e '-o default' "$out" && pass "file names where there is no word" ||
    fail "file names where there is no word" "$(cat "$out")"
offers "a command" "groat ru" "run "
offers "a family" "groat run tile" "tile_loader_lds:"
offers "a parameter" "groat run tile_loader_lds:dt" "dtype="
offers "a value" "groat run tile_loader_lds:dtype=b" "bf16"
offers "the next parameter" "groat run tile_loader_lds:dtype=bf16,tile_r" \
    "bf16,tile_rows="
offers "a truth value" "groat build tile_loader_lds:full_width=" "1"
offers "an option" "groat run --rep" "--repeat"
offers "a run-time argument" "groat run --first-r" "--first-row"
offers "a run-time argument to draw" "groat draw --first-r" "--first-row"
offers "a report" "groat run --report " "banks"
offers "a family to draw" "groat draw tile" "tile_loader_lds:"
offers "a target" "groat build --target cpu:gfx95" "gfx950"
offers "a subcommand" "groat cache ver" "verify"
offers "a bench" "groat bench co" "cold"
offers "a command to help" "groat help fam" "families"
offers "a family to show" "groat families tile" "tile_loader_lds"
finish
