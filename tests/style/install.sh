#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# make install, then a program in C and one in C++ that are built with nothing
# but pkg-config's flags, and the same with CMake's find_package().
. "$(dirname "$0")/lib.sh"
make_scratch
root=$scratch/root
# Do not use the outer make's jobserver.
unset MAKEFLAGS MFLAGS MAKELEVEL
if ! ${MAKE:-make} -C "$top_builddir" install DESTDIR="$root" \
    >"$scratch/log" 2>&1; then
    tail -n 20 "$scratch/log"
    bad 'make install'
    finish
fi
pc=$(find "$root" -name groat.pc)
prefix=$(sed -n 's/^prefix=//p' "$pc")
PKG_CONFIG_PATH=$(dirname "$pc")${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
export PKG_CONFIG_PATH
ask() {
    ${PKG_CONFIG:-pkg-config} --define-variable=prefix="$root$prefix" "$@" groat
}

for header in "$top_srcdir"/include/*.h; do
    installed=$root$prefix/include/$(basename "$header")
    [ -f "$installed" ] || bad "make install left out $(basename "$header")"
done
for name in bin/groat include/groat_version.h share/man/man1/groat.1 \
    share/man/man3/groat.3 share/doc/groat/kernels.md share/doc/groat/judge.md \
    share/doc/groat/functions.md share/groat/examples/decode.c \
    share/groat/examples/paged_cache.h \
    share/groat/examples/paged_scores.c share/groat/examples/paged_sum/main.c \
    share/groat/kernels-src/defaults.sh; do
    [ -f "$root$prefix/$name" ] || bad "make install left out $name"
done
[ -d "$(ask --variable=kernelsdir)/common" ] ||
    bad 'kernelsdir of groat.pc has no common/'

cat >"$scratch/example.c" <<'END'
#include <groat_tools.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    groat_options options = GROAT_OPTIONS_INIT;
    groat_error error = GROAT_ERROR_INIT;
    groat_context *context = NULL;
    groat_spec *spec = NULL;
    int wrong;

    options.flags = GROAT_OPEN_NO_DISK;
    if (groat_open(&options, &context, &error) != GROAT_OK ||
        groat_spec_parse(context, "tile_loader_lds", "cpu:gfx950", &spec,
                         &error) != GROAT_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    printf("%s for %s\n", groat_spec_text(spec), groat_spec_target(spec));
    wrong = strcmp(groat_version(), GROAT_VERSION_STRING) != 0 ||
            groat_family_find(context, "tile_loader_lds") == NULL;
    groat_spec_free(spec);
    groat_close(context);
    return wrong;
}
END
cp "$scratch/example.c" "$scratch/example.cc"

# try NAME COMPILER...: compiles, links and runs one example.
try() {
    name=$1
    shift
    # Flags are lists of words.
    if ! "$@" $(ask --cflags) -o "$scratch/$name" $(ask --libs) \
        ${GROAT_SANITIZE_FLAGS-}; then
        bad "$name does not build with: $(ask --cflags --libs)"
        return
    fi
    LD_LIBRARY_PATH=$(ask --variable=libdir) "$scratch/$name" ||
        bad "$name said $?"
}
try c11 $CC -std=c11 -Wall -Werror "$scratch/example.c"
try c++11 $CXX -std=c++11 -Wall -Werror "$scratch/example.cc"

# CMake finds the same in the moved tree, and refuses a later version.
if command -v cmake >/dev/null 2>&1; then
    mkdir -p "$scratch/cmake"
    cat >"$scratch/cmake/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.16)
project(example C CXX)
find_package(groat ${WANTED} REQUIRED)
foreach(language c cc)
    add_executable(example_${language} ../example.${language})
    target_link_libraries(example_${language} groat::groat)
endforeach()
END
    # make_by_cmake VERSION
    make_by_cmake() {
        rm -rf "$scratch/made"
        cmake -S "$scratch/cmake" -B "$scratch/made" -DWANTED="$1" \
            -DCMAKE_C_COMPILER="${CC%% *}" -DCMAKE_CXX_COMPILER="${CXX%% *}" \
            -DCMAKE_C_FLAGS="${GROAT_SANITIZE_FLAGS-}" \
            -DCMAKE_CXX_FLAGS="${GROAT_SANITIZE_FLAGS-}" \
            -DCMAKE_PREFIX_PATH="$root$prefix" >"$scratch/log" 2>&1 &&
            cmake --build "$scratch/made" >>"$scratch/log" 2>&1
    }
    version=$(ask --modversion)
    if make_by_cmake "$version"; then
        for language in c cc; do
            LD_LIBRARY_PATH=$(ask --variable=libdir) \
                "$scratch/made/example_$language" ||
                bad "example.$language by CMake said $?"
        done
    else
        tail -n 20 "$scratch/log"
        bad 'the examples do not build with find_package(groat)'
    fi
    # /lib is a link to usr/lib on many systems.
    mkdir "$scratch/merged" && ln -s "$root$prefix" "$scratch/merged/usr" &&
        ln -s usr/lib "$scratch/merged/lib"
    cmake -S "$scratch/cmake" -B "$scratch/of_link" -DWANTED="$version" \
        -DCMAKE_C_COMPILER="${CC%% *}" -DCMAKE_CXX_COMPILER="${CXX%% *}" \
        -DCMAKE_PREFIX_PATH="$scratch/merged" >"$scratch/log" 2>&1 || {
        tail -n 5 "$scratch/log"
        bad 'find_package(groat) does not follow a link to usr/lib'
    }
    for other in "${version%%.*}.99" 99; do
        make_by_cmake "$other" && bad "CMake takes $version for $other"
    done
fi
LD_LIBRARY_PATH=$(ask --variable=libdir) "$root$prefix/bin/groat" --version ||
    bad "the installed groat --version said $?"
${MAKE:-make} -C "$top_builddir" uninstall DESTDIR="$root" \
    >"$scratch/log" 2>&1 || bad 'make uninstall'
left=$(find "$root$prefix" -name '*groat*' | head -n 3)
[ -z "$left" ] || bad "make uninstall leaves $left"
finish
