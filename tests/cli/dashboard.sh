#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Prometheus reads the figures of examples/server, which has a remote, and
# answers each query of the dashboard in doc/fleet.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/../fleet/engines.sh"
. "$(dirname "$0")/../soak/parts.sh"

why=$(server_lacks)
for tool in python3 prometheus promtool; do
    command -v $tool >/dev/null 2>&1 || why="there is no $tool"
done
if [ -n "$why" ]; then
    echo "SKIP: $why"
    exit 77
fi
make_server
mkdir "$work/objects"
echo '{"spec": "paged_sum:depth=16"}' >"$work/served.jsonl"
"$groat" cache keygen "$work/key" >"$work/trust"
GROAT_TRUST=$work/trust GROAT_REMOTE_KEY=$work/key
GROAT_REMOTE=file://$work/objects
export GROAT_TRUST GROAT_REMOTE_KEY GROAT_REMOTE
"$work/server" "$work/families" "$work/served.jsonl" 0 cpu:sm_90a \
    >"$work/port" 2>"$work/talk" &
engines="$engines $!"
wait_for test -s "$work/port"
port=$(sed 's/^port //' "$work/port")
wait_for answers_http "$port"

# figures: prints what the server tells Prometheus.
figures() {
    python3 -c 'import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1]).read().decode(), end="")' \
        "http://localhost:$port/metrics"
}
asked_remote() { figures | grep -q '^groat_remote_misses_total [1-9]'; }
wait_for asked_remote || fail 'the server asks its remote'
figures >"$work/figures"
promtool check metrics <"$work/figures" >"$out" 2>&1 &&
    pass 'the figures are as Prometheus wants them' ||
    fail 'the figures are as Prometheus wants them' "$(head -c 400 "$out")"

cat >"$work/prometheus.yml" <<END
global: {scrape_interval: 200ms, scrape_timeout: 200ms}
scrape_configs:
  - job_name: groat
    static_configs: [{targets: ["localhost:$port"]}]
END
at=$(free_port)
prometheus --config.file "$work/prometheus.yml" --storage.tsdb.path \
    "$work/series" --web.listen-address "localhost:$at" >"$work/talk2" 2>&1 &
engines="$engines $!"
wait_for answers_http "$at"

# has_answer QUERY: whether Prometheus has a value for it.
has_answer() {
    promtool query instant "http://localhost:$at" "$1" >"$out" 2>"$err" &&
        grep -q '=>' "$out"
}
python3 -c 'import json, sys
for panel in json.load(open(sys.argv[1]))["panels"]:
    for target in panel["targets"]:
        print(target["expr"])' "$tree/doc/fleet/grafana.json" >"$work/asked"
while read -r query; do
    wait_for has_answer "$query" && pass "the dashboard: $query" ||
        fail "the dashboard: $query" "no answer: $(head -c 300 "$err")"
done <"$work/asked"
promtool query instant "http://localhost:$at" groat_no_such_total \
    >"$out" 2>"$err" && ! grep -q '=>' "$out" &&
    pass 'what groat does not tell has no answer' ||
    fail 'what groat does not tell has no answer' "$(cat "$out" "$err")"

finish
