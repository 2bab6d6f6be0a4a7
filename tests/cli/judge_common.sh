# SPDX-License-Identifier: Apache-2.0
#
# What tests of groat judge share; sourced behind common.sh.

# right NAME ARGUMENT...: the file on stdin has a sound kernel k.
right() {
    right_name=$1
    shift
    cat >k.cu
    expect "$right_name" 0 judge k.cu --entry k --block 32 "$@"
    lacks "$right_name: no warning" warning
}

# wrong NAME TEXT ARGUMENT...: one with a fault that is told with the text.
wrong() {
    wrong_name=$1 wrong_text=$2
    shift 2
    cat >k.cu
    expect "$wrong_name" 1 judge k.cu --entry k --block 32 "$@"
    answers "$wrong_name: is told" "$wrong_text"
}

# refused NAME TEXT ARGUMENT...: one that is not run.
refused() {
    refused_name=$1 refused_text=$2
    shift 2
    cat >k.cu
    expect "$refused_name" 2 judge k.cu --entry k "$@"
    says "$refused_name: says so" "$refused_text"
}

# callers NAME TEXT: as says, of a line that an inlined function is called from,
# which clang++ does not name.
callers() {
    "${GROAT_CXX:-c++}" --version | grep -q clang || says "$@"
}
