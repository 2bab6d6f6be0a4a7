# SPDX-License-Identifier: Apache-2.0
#
# common.sh - shared by the scripts of this folder.
#
# Each script runs the tool named by $GROAT in a private home, prints "ok NAME"
# or "FAIL NAME" per check, and ends with `finish`.  A check that is not
# possible on this machine prints "SKIP: NAME: reason".

set -u
LC_ALL=C
export LC_ALL
here=$(cd "$(dirname "$0")" && pwd)
tree=${top_srcdir:-$here/../..}
tree=$(cd "$tree" && pwd)
groat=${GROAT:-./groat}
case $groat in
*/*) groat=$(cd "$(dirname "$groat")" && pwd)/$(basename "$groat") ;;
esac
if ! [ -x "$groat" ]; then
    echo "FAIL there is no tool at $groat; set GROAT"
    exit 1
fi

work=$(mktemp -d) || exit 1
trap 'chmod -R u+rwX "$work" 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
mkdir "$work/home" "$work/tmp" || exit 1
HOME=$work/home
XDG_CACHE_HOME=$work/home/cache
TMPDIR=$work/tmp
export HOME XDG_CACHE_HOME TMPDIR
unset GROAT_CACHE_DIR GROAT_CACHE_MAX_BYTES GROAT_LOADED_MAX_BYTES GROAT_CACHE_SHARE GROAT_FAMILY_PATH
unset GROAT_BUNDLES GROAT_TRUST GROAT_REMOTE GROAT_REMOTE_KEY GROAT_LEASES

: >"$work/checks"

# Counted in a file: what is behind a pipe has a shell of its own.
pass() {
    echo ok >>"$work/checks"
    echo "ok $1"
}

fail() {
    echo FAIL >>"$work/checks"
    echo "FAIL $1${2:+: $2}"
}

skip() {
    echo "SKIP: $*"
}

# needs TOOL...: skips what follows if one of them is missing.
needs() {
    for tool; do
        command -v "$tool" >/dev/null 2>&1 || {
            skip "there is no $tool"
            exit 77
        }
    done
}

finish() {
    checks=$(grep -c . "$work/checks")
    failed=$(grep -c FAIL "$work/checks")
    if [ "$failed" -gt 0 ] || [ "$checks" -eq 0 ]; then
        echo "$failed of $checks failed"
        exit 1
    fi
    echo "$checks passed"
    exit 0
}

# Runs the tool; stdout in $out, stderr in $err, exit code in $code.
out=$work/out
err=$work/err
run() {
    code=0
    "$groat" "$@" >"$out" 2>"$err.all" </dev/null || code=$?
    # A build with ASan prints this once where fibers are used.
    grep -v "WARNING: ASan doesn't fully support" "$err.all" >"$err" || :
}

# expect NAME CODE WORDS...: checks the exit code; on failure shows the output.
expect() {
    name=$1
    want=$2
    shift 2
    run "$@"
    if [ "$code" -eq "$want" ]; then
        pass "$name"
    else
        fail "$name" "exit code $code, not $want: $(head -c 300 "$err")"
    fi
}

# says NAME TEXT: checks that stderr of the last run contains the text.
says() {
    if grep -F -q -e "$2" "$err"; then
        pass "$1"
    else
        fail "$1" "stderr lacks '$2': $(head -c 300 "$err")"
    fi
}

# answers NAME TEXT: checks that stdout of the last run contains the text.
answers() {
    if grep -F -q -e "$2" "$out"; then
        pass "$1"
    else
        fail "$1" "stdout lacks '$2': $(head -c 300 "$out")"
    fi
}

# lacks NAME TEXT: checks that the last run wrote the text nowhere.
lacks() {
    if grep -F -q -e "$2" "$out" "$err"; then
        fail "$1" "it wrote '$2': $(head -c 300 "$out" "$err")"
    else
        pass "$1"
    fi
}

# is_json FILE: checks for one JSON object and nothing else.
if command -v python3 >/dev/null 2>&1; then
    is_json() {
        python3 -c '
import json, sys
with open(sys.argv[1], encoding="utf-8") as f:
    sys.exit(0 if json.load(f)["format"] == 1 else 1)' "$1" 2>/dev/null
    }
else
    # Without python3: brackets outside of strings must match and end once.
    is_json() {
        awk '
        { text = text $0 "\n" }
        END {
            for (i = 1; i <= length(text); i++) {
                c = substr(text, i, 1)
                if (quoted) {
                    if (c == "\\") i++
                    else if (c == "\"") quoted = 0
                } else if (c == "\"") quoted = 1
                else if (c == "{" || c == "[") {
                    if (!depth && ended) exit 1
                    stack[++depth] = c
                } else if (c == "}" || c == "]") {
                    if (stack[depth] != (c == "}" ? "{" : "[")) exit 1
                    if (!--depth) ended = 1
                } else if (!depth && c !~ /[ \n]/) exit 1
            }
            exit !(ended && !depth && !quoted &&
                   text ~ /"format": 1[,\n]/)
        }' "$1"
    }
fi

# json NAME: checks that stdout of the last run is one object of format 1.
json() {
    if is_json "$out"; then
        pass "$1"
    else
        fail "$1" "not one JSON object: $(head -c 300 "$out")"
    fi
}

# has NAME MEMBER: checks that stdout of the last run has the member anywhere.
has() {
    answers "$1" "\"$2\": "
}
