# SPDX-License-Identifier: Apache-2.0
#
# parts.sh - what the tests of examples/server share; sourced behind
# tests/cli/common.sh.
build=$(cd "${top_builddir:-$tree/build}" && pwd)
LD_LIBRARY_PATH=$build/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
pkg=${PKG_CONFIG:-pkg-config}

# server_lacks: what is missing here to build the server, or nothing.
server_lacks() {
    $pkg --exists libmicrohttpd 2>/dev/null ||
        echo 'libmicrohttpd is not installed'
}

# soak_lacks: what is missing here to put it under load, or nothing.
soak_lacks() {
    server_lacks
    command -v python3 >/dev/null 2>&1 || echo 'there is no python3'
    command -v ab >/dev/null 2>&1 ||
        echo 'there is no ab (Debian: apache2-utils)'
}

# build_server PATH: what the compiler says goes to $err.  Flags are lists of
# words.
build_server() {
    ${CC:-cc} -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror \
        ${GROAT_SANITIZE_FLAGS-} -I"$build/include" -I"$tree/include" \
        "$tree/examples/server/server.c" "$tree/examples/paged_sum/sum.c" \
        $($pkg --cflags --libs libmicrohttpd) -L"$build/.libs" \
        -lgroat -lpthread -o "$1" 2>"$err"
}

# make_server: $work/server, and its family in $work/families; ends the test if
# that fails.
make_server() {
    if build_server "$work/server"; then
        pass 'the program compiles'
    else
        fail 'the program compiles' "$(head -c 600 "$err")"
        finish
    fi
    mkdir "$work/families"
    cp -r "$tree/examples/paged_sum" "$work/families/paged_sum"
    chmod -R u+w "$work/families"
}

# soak SECONDS SERVER: runs soak.py; its folder is removed with $work.  Its
# tool is not libtool's script around it, which has processes of its own.
soak() {
    soak_tool=$build/.libs/groat
    [ -x "$soak_tool" ] || soak_tool=$groat
    sanitized=
    [ "${GROAT_SANITIZE:-no}" = no ] || sanitized=--sanitized
    mkdir -p "$work/families" "$work/soak"
    [ -d "$work/families/paged_sum" ] ||
        cp -r "$tree/examples/paged_sum" "$work/families/paged_sum"
    PYTHONDONTWRITEBYTECODE=1 python3 "$tree/tests/soak/soak.py" \
        --seconds "$1" --server "$2" --groat "$soak_tool" \
        --cycles "$build/tests/soak/cycles" --families "$work/families" \
        --work "$work/soak" $sanitized
}
