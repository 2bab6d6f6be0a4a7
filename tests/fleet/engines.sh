# SPDX-License-Identifier: Apache-2.0
#
# engines.sh - the servers that fleet tests start, for use after cli/common.sh:
# each function fails if its program is not installed.  They end with the test.

if ! command -v python3 >/dev/null 2>&1; then
    echo "SKIP: there is no python3"
    exit 77
fi
engines=
unset GROAT_CACHE_DIR no_proxy NO_PROXY http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY
unset AWS_SESSION_TOKEN AWS_REGION AWS_DEFAULT_REGION AWS_ENDPOINT_URL_S3
trap 'for pid in $engines; do kill -9 "$pid"; done 2>/dev/null
    chmod -R u+rwX "$work" 2>/dev/null; rm -rf "$work"' EXIT

free_port() {
    python3 -c 'import socket
s = socket.socket()
s.bind(("localhost", 0))
print(s.getsockname()[1])'
}

# wait_for COMMAND...: retries until it succeeds, for at most half a minute.
wait_for() {
    tries=0
    until "$@" >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ $tries -lt 300 ] || return 1
        sleep 0.1
    done
}

answers_http() {
    python3 -c 'import sys, http.client
h = http.client.HTTPConnection("localhost", int(sys.argv[1]), timeout=1)
h.request("HEAD", "/")
h.getresponse()' "$1"
}

# make_certificate: creates one for this host, in tls.crt and tls.key.
make_certificate() {
    command -v openssl >/dev/null 2>&1 &&
        openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost \
            -addext subjectAltName=DNS:localhost \
            -keyout "$work/tls.key" -out "$work/tls.crt" >/dev/null 2>&1
}

# start_nginx: with DAV, and HTTP/2 on a second port if there is a certificate.
start_nginx() {
    command -v nginx >/dev/null 2>&1 || return 1
    nginx_port=$(free_port)
    nginx_tls=
    if [ -f "$work/tls.crt" ]; then
        nginx_tls_port=$(free_port)
        nginx_tls="listen localhost:$nginx_tls_port ssl http2;
        ssl_certificate $work/tls.crt; ssl_certificate_key $work/tls.key;"
    fi
    mkdir -p "$work/nginx/dav"
    {
        [ "$(id -u)" -ne 0 ] || echo 'user root;'
        cat <<END
daemon off;
worker_processes 1;
pid $work/nginx/pid;
error_log $work/nginx/errors;
events { worker_connections 512; }
http {
    log_format lines '"\$request" \$status \$connection';
    access_log $work/nginx/log lines;
    client_body_temp_path $work/nginx/body;
    proxy_temp_path $work/nginx/proxy;
    fastcgi_temp_path $work/nginx/fastcgi;
    uwsgi_temp_path $work/nginx/uwsgi;
    scgi_temp_path $work/nginx/scgi;
    server {
        listen localhost:$nginx_port;
        $nginx_tls
        client_max_body_size 100m;
        location / {
            root $work/nginx/dav;
            dav_methods PUT DELETE;
            create_full_put_path on;
        }
    }
}
END
    } >"$work/nginx/conf"
    nginx -e "$work/nginx/errors" -c "$work/nginx/conf" >/dev/null 2>&1 &
    engines="$engines $!"
    wait_for answers_http "$nginx_port"
}

# start_rclone BUCKET: starts an S3 server that checks signatures.
start_rclone() {
    command -v rclone >/dev/null 2>&1 || return 1
    rclone_port=$(free_port)
    mkdir -p "$work/s3/$1"
    rclone serve s3 --addr "localhost:$rclone_port" \
        --auth-key ACCESSKEY0000,SECRETKEY1111 "$work/s3" >/dev/null 2>&1 &
    engines="$engines $!"
    wait_for answers_http "$rclone_port"
}

start_moto() {
    command -v moto_server >/dev/null 2>&1 || return 1
    moto_port=$(free_port)
    moto_server -H localhost -p "$moto_port" >"$work/moto.log" 2>&1 &
    engines="$engines $!"
    wait_for answers_http "$moto_port" &&
        python3 -c 'import sys, http.client
h = http.client.HTTPConnection("localhost", int(sys.argv[1]))
h.request("PUT", "/bucket")
sys.exit(h.getresponse().status != 200)' "$moto_port"
}

# start_registry: starts one that requires the login user:word, or slash:w/o+rd=
start_registry() {
    command -v docker-registry >/dev/null 2>&1 &&
        command -v htpasswd >/dev/null 2>&1 || return 1
    registry_port=$(free_port)
    htpasswd -Bbn user word >"$work/registry.users" 2>/dev/null
    htpasswd -Bbn slash 'w/o+rd=' >>"$work/registry.users" 2>/dev/null
    cat >"$work/registry.yml" <<END
version: 0.1
log: {level: error}
storage: {filesystem: {rootdirectory: $work/registry}}
auth: {htpasswd: {realm: groat, path: $work/registry.users}}
http: {addr: "localhost:$registry_port"}
END
    docker-registry serve "$work/registry.yml" >/dev/null 2>&1 &
    engines="$engines $!"
    wait_for answers_http "$registry_port"
}

# start_token_registry: starts one that requires tokens from a server, which
# grants them for the login user:word.
start_token_registry() {
    command -v docker-registry >/dev/null 2>&1 || return 1
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=groat \
        -keyout "$work/token.key" -out "$work/token.crt" 2>/dev/null || return 1
    token_port=$(free_port)
    echo good >"$work/token.mode"
    python3 "$tree/tests/fleet/token.py" "$token_port" "$work/token.key" \
        "$work/token.crt" "$work/token.mode" >/dev/null 2>&1 &
    engines="$engines $!"
    wait_for answers_http "$token_port" || return 1
    tokens_port=$(free_port)
    cat >"$work/tokens.yml" <<END
version: 0.1
log: {level: error}
storage: {filesystem: {rootdirectory: $work/tokens}}
auth:
  token:
    realm: http://localhost:$token_port/token
    service: the registry
    issuer: groat
    rootcertbundle: $work/token.crt
http: {addr: "localhost:$tokens_port"}
END
    docker-registry serve "$work/tokens.yml" >/dev/null 2>&1 &
    engines="$engines $!"
    wait_for answers_http "$tokens_port"
}

# start_redis [OPTION...]: starts $lease_server on the socket redis.sock.
lease_server=redis-server
start_redis() {
    command -v $lease_server >/dev/null 2>&1 || return 1
    rm -f "$work/redis.sock"
    $lease_server --port 0 --unixsocket "$work/redis.sock" --save '' \
        --daemonize no "$@" >/dev/null 2>&1 &
    redis=$!
    engines="$engines $redis"
    wait_for test -S "$work/redis.sock"
}

# start_proxy: starts a proxy before nginx; sets $port.
start_proxy() {
    echo pass >"$work/mode"
    python3 "$tree/tests/fleet/proxy.py" "localhost:$nginx_port" "$work/mode" \
        "$work/port" >/dev/null 2>&1 &
    engines="$engines $!"
    wait_for test -s "$work/port" && port=$(cat "$work/port")
}

spec=tile_loader_lds
target=cpu:gfx950

# crowd HOSTS PROCESSES KERNELS: prints how many compiled, fetched, and had it.
crowd() {
    rm -rf "$work/hosts"
    pids=
    for host in $(seq "$1"); do
        for process in $(seq "$2"); do
            for kernel in $(seq "$3"); do
                "$groat" build $spec:ld=$((1024 + 64 * kernel)) \
                    --target $target --cache-dir "$work/hosts/$host" --json \
                    --remote-key "$work/key" 2>>"$work/crowd.err" |
                    sed -n 's/^ *"origin": "\(.*\)".*/\1/p'
            done >"$work/crowd.$host.$process" &
            pids="$pids $!"
        done
    done
    for pid in $pids; do wait "$pid"; done
    cat "$work"/crowd.*.* | sort | uniq -c | awk '{ print $2 "=" $1 }' |
        tr '\n' ' '
    rm -f "$work"/crowd.*.*
}
