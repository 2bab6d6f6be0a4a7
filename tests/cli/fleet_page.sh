#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The commands of doc/fleet.md, verbatim and in order, with an S3 server and a
# Redis; and the files of doc/fleet.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/../fleet/engines.sh"

page=$tree/doc/fleet.md
if python3 -c 'import json, sys
board = json.load(open(sys.argv[1]))
for panel in board["panels"]:
    for target in panel["targets"]:
        print(target["expr"])' "$tree/doc/fleet/grafana.json" >"$work/asked"
then
    # Each metric of the dashboard must be one of groat's.
    grep -o 'groat_[a-z_]*' "$work/asked" | sort -u >"$work/names"
    [ -s "$work/names" ] || fail 'the dashboard asks for something'
    while read -r name; do
        short=${name#groat_}
        short=${short%_bucket}
        grep -q "\"$short\"\|groat_$short " "$tree"/src/core/metrics.c ||
            fail "the dashboard: $name is a metric"
    done <"$work/names"
    pass 'the dashboard asks for metrics'
else
    fail 'the dashboard is JSON'
fi
if command -v systemd-analyze >/dev/null 2>&1; then
    sed "s|^ExecStart=/usr/bin/groat|ExecStart=/bin/true|" \
        "$tree/doc/fleet/groat-prewarm.service" >"$work/groat-prewarm.service"
    systemd-analyze verify "$work/groat-prewarm.service" >"$out" 2>&1
    grep "groat-prewarm.service:[0-9]" "$out" >"$err" && fail 'the unit' \
        "$(head -c 300 "$err")" || pass 'the unit'
else
    skip 'there is no systemd-analyze for the unit'
fi
if command -v kubernetes-validate >/dev/null 2>&1; then
    kubernetes-validate --strict --quiet "$tree/doc/fleet/kubernetes.yaml" \
        >"$out" 2>&1 && pass 'the Kubernetes manifests' ||
        fail 'the Kubernetes manifests' "$(head -c 300 "$out")"
else
    skip 'there is no kubernetes-validate for the manifests'
fi

if ! start_rclone kernels; then
    skip 'there is no rclone to serve S3: the page is not run'
    finish
fi
if ! start_redis; then
    skip 'there is no redis-server: the page is not run'
    finish
fi
AWS_ACCESS_KEY_ID=ACCESSKEY0000 AWS_SECRET_ACCESS_KEY=SECRETKEY1111
AWS_ENDPOINT_URL=http://localhost:$rclone_port
export AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_ENDPOINT_URL
unset XDG_CACHE_HOME GROAT_TRUST
mkdir "$work/bin" "$work/page"
ln -s "$groat" "$work/bin/groat"
PATH=$work/bin:$PATH
cd "$work/page" || exit 1
ln -s "$work/redis.sock" redis.sock
for host in builder server plain one two new image; do mkdir $host; done
{
    echo '{"spec": "tile_loader_lds", "target": "cpu:gfx950"}'
    echo '{"spec": "tile_loader_lds:ld=1088", "target": "cpu:gfx950"}'
} >kernels.jsonl

# Each block becomes a file; its exported variables apply to later blocks.
awk '/^```sh$/ { on = 1; n++; next }
     /^```$/ { on = 0 }
     on { print >("block" sprintf("%02d", n)) }' "$page"
[ -f block07 ] || fail 'the page has blocks'
for block in block*; do
    # The page says so before that block.
    [ $block != block08 ] || { cp trusted.keys both.keys &&
        sed -n 2p both.keys >trusted.keys; }
    [ $block != block09 ] || cp both.keys trusted.keys
    # shellcheck disable=SC2016
    sh -e -c '. "$1"; export -p >"$2"' sh "./$block" "$work/exported" \
        >"$out" 2>"$err"
    code=$?
    name=$(head -n 1 "$block")
    if [ $code -eq 0 ]; then
        pass "the page: $name"
        . "$work/exported"
    else
        fail "the page: $name" "exit code $code: $(cat "$out" "$err" | head -c 600)"
    fi
    case $block in
    block03) [ -f builder/.cache/groat/groat.sqlite ] &&
        grep -q ' 0 compiled' "$out" && pass 'the server compiles nothing' ||
        fail 'the server compiles nothing' "$(cat "$out")" ;;
    block04) answers 'the plain host takes what others made' ' remote ' ;;
    block05) [ "$(grep -c compiled "$out")" -eq 1 ] &&
        pass 'one of two compiles' ||
        fail 'one of two compiles' "$(cat "$out")" ;;
    block07) answers 'objects of the old key stay' '0 of 4 objects sent' ;;
    block08)
        answers 'objects of the leaked key go' ' objects removed'
        answers 'and are made anew' ' compiled, 0 failed, 0 missing'
        HOME=$PWD/later expect 'a new host takes them' 0 build tile_loader_lds
        answers 'from the remote' ' remote '
        ;;
    block09) answers 'the image takes its kernel from the bundle' ' bundle: ' ;;
    esac
done
finish
