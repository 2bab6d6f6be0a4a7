# SPDX-License-Identifier: Apache-2.0
#
# Tables that tests make, on pages that people read, between the markers
# <!-- NAME --> and <!-- /NAME -->; sourced, not run.

# table_read PAGE NAME: prints the table; fails where there is none.
table_read() {
    sed -n "/<!-- $2 -->/,/<!-- \\/$2 -->/p" "$1" | sed '1d;$d' | grep '' || {
        echo "FAIL: $1 has no table between its markers" >&2
        return 1
    }
}

# table_write PAGE NAME TABLE SCRATCH: puts the file TABLE there.
table_write() {
    awk -v table="$3" -v name="$2" '
        $0 == "<!-- /" name " -->" { inside = 0 }
        !inside { print }
        $0 == "<!-- " name " -->" {
            inside = 1
            while ((getline line < table) > 0)
                print line
        }' "$1" >"$4" && cat "$4" >"$1"
}
