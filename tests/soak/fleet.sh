#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A part of make check-soak: for $GROAT_SOAK_SECONDS (1800) hosts of a fleet start
# cold again and again, while what is between them and their remote changes its
# fault, and the lease server is killed.  Every process gets every kernel, and at
# the end every object is good.
. "$(dirname "$0")/../cli/common.sh"
. "$(dirname "$0")/../fleet/engines.sh"

"$groat" cache keygen "$work/key" >"$work/trust" || exit 1
GROAT_TRUST=$work/trust
GROAT_LEASES=unix://$work/redis.sock
export GROAT_TRUST GROAT_LEASES GROAT_REMOTE
if ! start_nginx || ! start_redis || ! start_proxy; then
    echo 'FAIL there can be no soak: nginx or redis-server is not there'
    exit 1
fi
end=$(($(date +%s) + ${GROAT_SOAK_SECONDS:-1800}))

# The modes of the proxy, the good ones more often.
(
    trap 'exit 0' TERM
    while :; do
        for mode in pass 'status 503' pass half garbage pass 'latency 200' \
            lie pass drip 'status 403' pass hang endless; do
            echo "$mode" >"$work/mode.new"
            mv "$work/mode.new" "$work/mode"
            sleep 0.4
        done
    done
) &
engines="$engines $!"
echo "$redis" >"$work/redis.pid"
(
    while :; do
        sleep 1.7
        kill -KILL "$redis"
        wait "$redis" 2>/dev/null
        rm -f "$work/redis.sock"
        start_redis
        echo "$redis" >"$work/redis.pid"
    done
) &
engines="$engines $!"

rounds=0 compiled=0 remote=0 disk=0 lost=0
while [ "$(date +%s)" -lt "$end" ]; do
    rounds=$((rounds + 1))
    GROAT_REMOTE=http://localhost:$port/soak/$((rounds / 4))
    for figure in $(crowd 4 3 5); do
        case $figure in
        compiled=*) compiled=$((compiled + ${figure#*=})) ;;
        remote=*) remote=$((remote + ${figure#*=})) ;;
        disk=*) disk=$((disk + ${figure#*=})) ;;
        esac
    done
    lost=$((60 * rounds - compiled - remote - disk))
    [ $lost -eq 0 ] || { fail 'every process gets every kernel' "$lost lost:
$(tail -n 5 "$work/crowd.err")"; break; }
done
pass "every process gets every kernel: $rounds rounds, $compiled compiled, \
$remote taken, $disk had"

# What lies there now, all of it, is good.
for folder in "$work"/nginx/dav/soak/*; do
    run fleet check --remote "file://$folder"
    [ $code -eq 0 ] || fail 'every object is good' "$(head -c 300 "$out")"
done
pass 'every object is good'
kill -KILL "$(cat "$work/redis.pid")" 2>/dev/null
finish
