#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# report.sh [--totals] BUILDDIR [FOLDER | LOG...]: reports the tests below FOLDER
# (default: tests), or those of the logs, that make check ran in BUILDDIR.  One
# line per failure, one per skip with its reason (the lines "SKIP: reason" and
# "skipped: reason" of the logs, also of tests that passed), and last the line "N
# passed, N failed, N skipped".  --totals: the last line only.
set -u
totals=0
[ "${1-}" = --totals ] && totals=1 && shift
cd "${1:?usage: report.sh [--totals] BUILDDIR [FOLDER | LOG...]}" || exit 1

shift
list() {
    case ${1-} in
    *.log) printf '%s\n' "$@" | sed 's/\.log$/.trs/' ;;
    *) find "${1-tests}" -name '*.trs' 2>/dev/null ;;
    esac
}
list "$@" | LC_ALL=C sort | {
    passed=0 failed=0 skipped=0
    while read -r trs; do
        name=${trs%.trs}
        result=$(sed -n 's/^:test-result: \([A-Z]*\).*/\1/p' "$trs")
        why=$(sed -n -e 's/^SKIP: *//p' -e 's/^skipped: *//p' "$name.log" \
            2>/dev/null | cut -c 1-200 | sort -u)
        case $result in
        PASS | XFAIL) passed=$((passed + 1)) ;;
        SKIP) skipped=$((skipped + 1)) ;;
        *) failed=$((failed + 1)) ;;
        esac
        [ "$totals" -eq 1 ] && continue
        case $result in
        PASS | XFAIL) ;;
        SKIP) [ -n "$why" ] || why='the test gave no reason' ;;
        *) echo "failed: $name (see $name.log)" ;;
        esac
        [ -n "$why" ] && echo "$why" | sed "s|^|skipped: $name: |"
    done
    echo "$passed passed, $failed failed, $skipped skipped"
}
