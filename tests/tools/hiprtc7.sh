#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# hiprtc7.sh DEST - installs a current hipRTC 7.x into a folder, without root.
#
# Fetches libhiprtc7 and its dependencies, including its C library, from the
# package mirror in this machine's apt sources, and unpacks it into DEST/root.
# Writes DEST/run, which runs a program with that C library, and prints one line
# with the version.  A complete DEST is reused.
#
# Exit: 0 done, 1 failed half-way, 2 usage, 77 not to be had here (and why).
set -u

skip()
{
    echo "SKIP: $*"
    exit 77
}

fail()
{
    echo "hiprtc7.sh: $*" >&2
    exit 1
}

# apt with its own lists and cache: the machine's state is not changed.  No
# package counts as installed, so the closure is complete.
own_apt()
{
    tool=$1
    shift
    "$tool" -qq \
        -o Dir::Etc::SourceList="$dest/work/sources.list" \
        -o Dir::Etc::SourceParts=- \
        -o Dir::State::Lists="$dest/work/lists" \
        -o Dir::State::status=/dev/null \
        -o Dir::Cache="$dest/work/cache" \
        -o Acquire::Check-Valid-Until=false \
        -o APT::Install-Recommends=false \
        -o APT::Sandbox::User=root \
        -o Debug::NoLocking=1 "$@"
}

# Lists every mirror of the machine's sources, one per line.  apt itself reads
# the one-line and the deb822 form; security archives have no unstable suite.
mirrors()
{
    apt-get update --print-uris 2>/dev/null |
        sed -n "s#^'\([^']*\)/dists/[^']*InRelease'.*#\1#p" |
        grep -v -e security | sort -u
}

# use_mirror URI: succeeds if it has libhiprtc7.
use_mirror()
{
    signed=
    keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    [ ! -r "$keyring" ] || signed="[signed-by=$keyring] "
    for suite in sid experimental; do
        echo "deb $signed$1 $suite main"
    done >"$dest/work/sources.list"
    rm -rf "$dest/work/lists" "$dest/work/cache"
    mkdir -p "$dest/work/lists/partial" "$dest/work/cache/archives/partial"
    own_apt apt-get update >"$dest/work/log" 2>&1 || return 1
    own_apt apt-cache show libhiprtc7 2>/dev/null | grep -q '^Package:'
}

# closure PACKAGE...: "name=version" of each package and its dependencies.
closure()
{
    own_apt apt-get --simulate -t experimental install "$@" \
        2>"$dest/work/log" |
        sed -n 's/^Inst \([^ ]*\) (\([^ ]*\) .*/\1=\2/p'
}

fetch()
{
    base="libhiprtc7 libhiprtc-builtins7 libamd-comgr3"
    # shellcheck disable=SC2086
    llvm=$(closure $base | sed -n 's/^libllvm\([0-9]*\)=.*/\1/p' | head -n 1)
    [ -n "$llvm" ] || skip "no libllvm below libamd-comgr3 at the mirror"
    # comgr does not depend on the bitcode and headers that it compiles with.
    # shellcheck disable=SC2086
    packages=$(closure $base "rocm-device-libs-$llvm" \
        "libclang-common-$llvm-dev")
    [ -n "$packages" ] || skip "apt cannot resolve libhiprtc7:" \
        "$(head -n 1 "$dest/work/log")"
    mkdir -p "$dest/work/deb"
    # shellcheck disable=SC2086
    (cd "$dest/work/deb" && own_apt apt-get download $packages) \
        >"$dest/work/log" 2>&1 ||
        skip "download failed: $(grep -m 1 '^E:' "$dest/work/log")"
}

unpack()
{
    rm -rf "$dest/root"
    mkdir -p "$dest/root"
    for deb in "$dest"/work/deb/*.deb; do
        dpkg -x "$deb" "$dest/root" || fail "cannot unpack $deb"
    done
    [ -x "$dest/root/$libs/ld-linux-x86-64.so.2" ] ||
        fail "libc6 brought no $libs/ld-linux-x86-64.so.2"
    [ -r "$dest/root/$libs/libhiprtc.so.7" ] ||
        fail "libhiprtc7 brought no $libs/libhiprtc.so.7"
}

write_run()
{
    cat >"$dest/run" <<'END' || fail "cannot write $dest/run"
#!/bin/sh
# run PROGRAM ARGS...: runs PROGRAM with the C library and hipRTC beside this
# file; other libraries come from the host and from LD_LIBRARY_PATH.
[ $# -gt 0 ] || { echo "usage: run PROGRAM [ARG...]" >&2; exit 2; }
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd) || exit 1
libs=$here/root/usr/lib/x86_64-linux-gnu
program=$1
case $program in
*/*) ;;
*) program=$(IFS=:
    for dir in $PATH; do
        [ -f "$dir/$1" ] && [ -x "$dir/$1" ] && echo "$dir/$1" && break
    done) ;;
esac
[ -x "$program" ] || { echo "run: $1: no such program" >&2; exit 127; }
shift
host=/usr/lib/x86_64-linux-gnu:/lib/x86_64-linux-gnu:/usr/lib:/lib
exec "$libs/ld-linux-x86-64.so.2" --library-path \
    "$libs:$host${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$program" "$@"
END
    chmod 755 "$dest/run" || fail "cannot chmod $dest/run"
}

[ $# -eq 1 ] || { echo "usage: hiprtc7.sh DEST" >&2; exit 2; }
libs=usr/lib/x86_64-linux-gnu
mkdir -p "$1" || fail "cannot make the folder $1"
dest=$(CDPATH='' cd -- "$1" && pwd) || fail "cannot enter $1"

if [ ! -r "$dest/version" ] || [ ! -x "$dest/run" ]; then
    for tool in apt-get apt-cache dpkg; do
        command -v "$tool" >/dev/null || skip "this machine has no $tool"
    done
    [ "$(dpkg --print-architecture)" = amd64 ] ||
        skip "hipRTC is fetched for amd64 only"
    mkdir -p "$dest/work" || fail "cannot write below $dest"
    found=
    for mirror in $(mirrors); do
        if use_mirror "$mirror"; then
            found=yes
            break
        fi
    done
    [ -n "$found" ] || skip "no mirror of this machine's apt has libhiprtc7"
    fetch
    unpack
    write_run
    version=$(dpkg-deb -f "$dest"/work/deb/libhiprtc7_*.deb Version) ||
        fail "cannot read the version of libhiprtc7"
    rm -rf "$dest/work"
    # Written last: its presence means that DEST is complete.
    echo "$version" >"$dest/version" || fail "cannot write $dest/version"
fi
echo "hipRTC $(cat "$dest/version") in $dest"
