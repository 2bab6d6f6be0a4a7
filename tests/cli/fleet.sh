#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Hosts of a fleet, a folder each, with real servers: nginx with DAV, S3 servers
# that check signatures, Redis.  What one host compiles the others fetch; a
# crowd of cold processes compiles each kernel once; any failure in between
# costs a compile and nothing else.
. "$(dirname "$0")/common.sh"

. "$(dirname "$0")/../fleet/engines.sh"


"$groat" cache keygen "$work/key" >"$work/trust" || exit 1
"$groat" cache keygen "$work/key2" >"$work/trust2" || exit 1
GROAT_TRUST=$work/trust
export GROAT_TRUST

# origin HOST [WORDS...]: prints where the host gets the kernel from.
origin() {
    host=$1
    shift
    run build $spec --target $target --cache-dir "$work/hosts/$host" --json "$@"
    sed -n 's/^ *"origin": "\(.*\)".*/\1/p' "$out"
}

# from NAME HOST WANTED [WORDS...]
from() {
    name=$1 host=$2 wanted=$3
    shift 3
    found=$(origin "$host" "$@")
    if [ "$found" = "$wanted" ]; then
        pass "$name"
    else
        fail "$name" "from $found, not $wanted: $(head -c 300 "$err")"
    fi
}

# ---- engines

# ---- each engine

# use_engine NAME URL LISTS
use_engine() {
    engine=$1
    GROAT_REMOTE=$2
    export GROAT_REMOTE
    rm -rf "$work/hosts"
    from "$engine: the first host compiles" a compiled --remote-key "$work/key"
    from "$engine: the second takes it" b remote
    from "$engine: and has it" b disk
    expect "$engine: explain" 0 explain $spec --target $target \
        --cache-dir "$work/hosts/c"
    answers "$engine: explain says who signed it" 'has it, signed by '
    expect "$engine: explain as JSON" 0 explain $spec --target $target \
        --cache-dir "$work/hosts/c" --json
    for member in url name signer; do
        has "$engine: explain tells the $member" $member
    done
    run doctor
    answers "$engine: doctor" 'answers in '
    run doctor --trust /dev/null
    answers "$engine: doctor without keys" '0 trusted keys; only read; nothing of it is used'
    echo "{\"spec\": \"$spec\"}" >"$work/manifest"
    expect "$engine: check" 0 fleet check "$work/manifest" --target $target
    answers "$engine: check: both objects" '2 of 2 objects verified'
    expect "$engine: pull" 0 fleet pull "$work/manifest" --target $target \
        --cache-dir "$work/hosts/d"
    from "$engine: what was pulled is there" d disk
    expect "$engine: push again" 0 fleet push --cache-dir "$work/hosts/d" \
        --remote-key "$work/key"
    answers "$engine: nothing is sent twice" '0 of 2 objects sent'
    expect "$engine: push of a manifest" 0 fleet push "$work/manifest" \
        --target $target --cache-dir "$work/hosts/d" --remote-key "$work/key"
    answers "$engine: its kernel is there" '0 of 2 objects sent, 0 not there'
    GROAT_TRUST=$work/trust2
    from "$engine: another's key" e compiled
    expect "$engine: check with another's key" 1 fleet check "$work/manifest" \
        --target $target
    GROAT_TRUST=$work/trust
    if [ "$3" = lists ]; then
        expect "$engine: ls" 0 fleet ls
        answers "$engine: ls: both objects" '2 objects of '
        expect "$engine: gc keeps what is young" 0 fleet gc --older-than 1
        answers "$engine: gc: none" '0 objects removed'
    else
        expect "$engine: no listing" 2 fleet ls
        says "$engine: no listing: why" 'plain HTTP has no listing'
    fi
}

python3 "$tree/tests/bench/fleet_simulation.py" 50 4 1 >"$out" 2>"$err"
answers 'a simulated fleet compiles each kernel once' '"compiles": 4'
unset SSL_CERT_FILE CURL_CA_BUNDLE
make_certificate || skip 'no certificate could be made'
if start_nginx; then
    if [ -n "$nginx_tls" ]; then
        SSL_CERT_FILE=$work/tls.crt
        export SSL_CERT_FILE
        use_engine https "https://localhost:$nginx_tls_port/tls" ''
        expect 'https: no registry' 1 cache pull \
            "oci://localhost:$nginx_tls_port/a/b" --output "$work/none.bundle"
        says 'https: its certificate is trusted' 'has no manifests'
        grep -q 'HTTP/2.0" 200' "$work/nginx/log" && pass 'it was HTTP/2' ||
            fail 'it was HTTP/2'
        unset SSL_CERT_FILE
        rm -rf "$work/hosts"
        tries=0 # on a busy machine the handshake outlasts its limit
        while from 'a certificate that nobody trusts costs a compile' a \
            compiled; grep -q timeout "$err" && [ $tries -lt 20 ]; do
            tries=$((tries + 1))
            rm -rf "$work/hosts"
        done
        says 'and is said' certificate
    fi
    use_engine nginx "http://localhost:$nginx_port/groat" ''
    # Many objects come over few connections.
    for kernel in $(seq 60); do
        echo "{\"spec\": \"$spec:ld=$((1024 + 64 * kernel))\"}"
    done >"$work/many"
    expect 'many kernels are sent' 0 prewarm "$work/many" --target $target \
        --cache-dir "$work/hosts/many" --remote-key "$work/key"
    : >"$work/nginx/log"
    expect 'many kernels are pulled' 0 fleet pull "$work/many" --target $target \
        --cache-dir "$work/hosts/got"
    grep '"GET .* 200 ' "$work/nginx/log" >"$work/gets"
    if [ "$(wc -l <"$work/gets")" -eq 60 ] &&
        [ "$(awk '{ print $NF }' "$work/gets" | sort -u | wc -l)" -le 50 ]; then
        pass 'they come over 50 connections at most'
    else
        fail 'they come over 50 connections at most' "$(tail -n 5 "$work/gets")"
    fi
else
    skip 'there is no nginx'
    nginx_port=
fi
AWS_ACCESS_KEY_ID=ACCESSKEY0000 AWS_SECRET_ACCESS_KEY=SECRETKEY1111
export AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_ENDPOINT_URL
if start_rclone bucket; then
    AWS_ENDPOINT_URL=http://localhost:$rclone_port
    use_engine rclone s3://bucket/some/prefix lists
    rm -rf "$work/hosts"
    AWS_SECRET_ACCESS_KEY=wrong
    from 'a wrong secret costs a compile' a compiled
    says 'a wrong secret is said' 'the server answered 403: SignatureDoesNotMatch'
    AWS_SECRET_ACCESS_KEY=SECRETKEY1111
else
    skip 'there is no rclone to serve S3'
fi
if start_moto; then
    AWS_ENDPOINT_URL=http://localhost:$moto_port
    use_engine moto s3://bucket/other lists
    # A write is conditional: who trusts another key does not replace objects.
    GROAT_TRUST=$work/trust2
    from 'moto: a host that trusts others compiles' f compiled \
        --remote-key "$work/key2"
    GROAT_TRUST=$work/trust
    expect 'moto: the objects are still the first ones' 0 fleet check \
        "$work/manifest" --target $target
    answers 'moto: both' '2 of 2 objects verified'
    grep -q 'PUT /bucket/other/v1/.* 412 ' "$work/moto.log" &&
        pass 'moto: the writes were refused' ||
        fail 'moto: the writes were refused' "$(tail -n 5 "$work/moto.log")"
    echo '{"spec": "tile_loader_lds:ld=1216"}' >"$work/manifest.moto"
    expect 'moto: a bucket that is not there' 1 fleet push \
        --remote s3://nowhere/x --remote-key "$work/key" \
        --cache-dir "$work/hosts/a"
    answers 'moto: is said' 'the server answered 404: NoSuchBucket'
    expect 'moto: nothing is pulled from it' 1 fleet pull "$work/manifest.moto" \
        --remote s3://nowhere/x --target $target --cache-dir "$work/hosts/a2"
    answers 'moto: and why' 'the server answered 404: NoSuchBucket'
    run doctor --remote s3://nowhere/x
    answers 'moto: doctor says it, too' 's3://nowhere/x: the server answered 404: NoSuchBucket'
else
    skip 'there is no moto_server'
fi
unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_ENDPOINT_URL
mkdir "$work/folder"
use_engine folder "file://$work/folder" lists
run doctor --remote "file://$work/nowhere"
answers 'folder: doctor of one that is not there' 'the folder is not there'

# ---- pushing a manifest's kernels

# pushed NAME CODE ANSWER [WORDS...]
pushed() {
    name=$1 code=$2 answer=$3
    shift 3
    expect "push: $name" "$code" fleet push --target $target \
        --cache-dir "$work/hosts/pusher" --remote-key "$work/key" \
        --remote "file://$work/pushed" "$@"
    answers "$name: what became of it" "$answer"
}
mkdir "$work/pushed"
expect 'push: three kernels' 0 build $spec tile_loader_lds:ld=1152 \
    tile_loader_lds:ld=1216 --target $target --cache-dir "$work/hosts/pusher"
expect 'push: a bundle of them' 0 cache export --output "$work/three.bundle" \
    --cache-dir "$work/hosts/pusher"
: >"$work/empty"
pushed 'a manifest of none' 0 '0 of 0 objects sent, 0 not there' "$work/empty"
cat "$work/manifest" "$work/manifest" >"$work/twice"
pushed 'a kernel that is named twice' 0 '2 of 2 objects sent, 0 not there' \
    "$work/twice"
echo '{"spec": "tile_loader_lds:ld=4096"}' >"$work/absent"
pushed 'a kernel that is not there' 1 '0 of 3 objects sent, 1 not there' \
    "$work/absent" "$work/manifest"
echo '{"spec": "tile_loader_lds:ld=1152"}' >"$work/second"
pushed 'of a bundle' 0 '2 of 2 objects sent, 0 not there' "$work/second" \
    --from "$work/three.bundle"
pushed 'all' 0 '2 of 6 objects sent, 0 not there'
expect 'push: no such manifest' 1 fleet push "$work/nothing" \
    --remote "file://$work/pushed" --remote-key "$work/key"
expect 'push: no such bundle' 1 fleet push --from "$work/nothing" \
    --remote "file://$work/pushed" --remote-key "$work/key"

# ---- what a killed writer leaves in a folder

rest=$(cd "$work/pushed" && find v1 -type f | head -n 1)
cp "$work/pushed/$rest" "$work/pushed/$rest.part.a1B2c3"
for stranger in txt sha256 part.a1B2c3d part.a-b_c1; do
    echo stranger >"$work/pushed/$rest.$stranger"
done
GROAT_REMOTE=file://$work/pushed
expect 'a rest: check' 0 fleet check
answers 'a rest: is not fetched' '6 of 6 objects verified'
expect 'a rest: ls' 0 fleet ls
answers 'a rest: is no object' '6 objects of '
answers 'a rest: why' "$rest.part.a1B2c3: it is being written, or its writer was killed"
expect 'a rest: ls as JSON' 0 fleet ls --json
answers 'a rest: why, as JSON' 'or its writer was killed"'
expect 'a rest: a young one' 0 fleet gc --older-than 1
answers 'a rest: a young one stays' '0 objects removed'
find "$work/pushed" -name "*.*" -exec touch -d '2 days ago' {} +
expect 'a rest: gc' 0 fleet gc --older-than 1
answers 'a rest: gc removes it' '1 object removed'
if [ -e "$work/pushed/$rest" ] &&
    [ "$(find "$work/pushed" -name "${rest##*/}.*" | wc -l)" -eq 4 ] &&
    [ ! -e "$work/pushed/$rest.part.a1B2c3" ]; then
    pass 'a rest: gc removes nothing else'
else
    fail 'a rest: gc removes nothing else' "$(ls "$work/pushed/${rest%/*}")"
fi

# ---- old objects

# Of 6 objects of 3 kernels a manifest keeps two, and the store those that it
# has used since.
aged() {
    find "$work/pushed/v1" -type f ! -name '*.*' -exec touch -d '2 days ago' {} +
}
aged
cp -a "$work/pushed" "$work/pulled"
GROAT_REMOTE=file://$work/pulled
expect 'gc: a host that only pulls' 0 fleet pull --cache-dir "$work/hosts/puller"
expect 'gc: its store has used nothing' 0 fleet gc --older-than 1 \
    --cache-dir "$work/hosts/puller"
answers 'gc: all of it goes' '6 objects removed'
GROAT_REMOTE=file://$work/pushed
expect 'gc: what a store has used' 0 fleet gc --older-than 1 \
    --cache-dir "$work/hosts/pusher"
answers 'gc: stays' '0 objects removed'
expect 'gc: a store that does not exist' 1 fleet gc --older-than 1 \
    --cache-dir "$work/hosts/nobody"
says 'gc: says so' 'nobody: there is no store'
mkdir "$work/hosts/nobody" && chmod 777 "$work/hosts/nobody"
expect 'gc: a store that cannot be opened' 1 fleet gc --older-than 1 \
    --cache-dir "$work/hosts/nobody"
answers 'gc: nothing goes' '0 objects removed'
says 'gc: says why' 'others may write it; run: chmod 700'
chmod 700 "$work/hosts/nobody"
expect 'gc: a kernel of a manifest' 0 fleet gc "$work/second" --older-than 1 \
    --target $target --cache-dir "$work/hosts/nobody"
answers 'gc: stays, and the others go' '4 objects removed'
{
    echo '{"spec": "tile_loader_lds", "target": "hip:gfx950"}'
    sed "s/}\$/, \"target\": \"$target\"}/" "$work/second"
} >"$work/mixed"
GROAT_HIPRTC=$work/none
export GROAT_HIPRTC
expect 'no compiler for one kernel: check' 3 fleet check "$work/mixed"
answers 'no compiler: the others are checked' '2 of 2 objects verified'
says 'no compiler: the line is named' "mixed:1: "
expect 'no compiler for one kernel: gc' 3 fleet gc "$work/mixed" \
    --older-than 1
answers 'no compiler: nothing goes' '0 objects removed'
expect 'no compiler: of a target that is left out' 0 fleet check \
    "$work/mixed" --target $target
answers 'no compiler: the others are all' '2 of 2 objects verified'
for act in 'check' 'ls' 'pull' 'gc --older-than 1'; do
    expect "a target that does not exist: $act" 2 fleet $act --target sm_90b
    says 'a target: says which is near' 'did you mean sm_90'
done
unset GROAT_HIPRTC
echo '{"spec": "tile_loader_lds:ld=7"}' >>"$work/mixed"
expect 'a bad spec: check' 2 fleet check "$work/mixed" --target $target
says 'a bad spec: the line is named' "mixed:3: tile_loader_lds: ld=7 is not"
expect 'gc: what is left' 0 fleet check
answers 'gc: is good' '2 of 2 objects verified'
pushed 'what was removed' 0 '4 of 6 objects sent, 0 not there'
ln -s "$work/pushed" "$work/linked"
expect 'check: a folder by another name' 0 fleet check \
    --remote "file://$work/linked"
answers 'check: has what is there' '6 of 6 objects verified'

# ---- a second pull

GROAT_REMOTE=file://$work/pushed
cat "$work/manifest" "$work/second" >"$work/both_of"
GROAT_CACHE_MAX_BYTES=68000
export GROAT_CACHE_MAX_BYTES
expect 'pull: into a store of one kernel' 1 fleet pull --target $target \
    --cache-dir "$work/hosts/narrow"
says 'pull: says what is lost' 'more than the bound of 68000 bytes allows'
says 'pull: says so at the end' 'of these kernels any more: its bound is too small'
expect 'prewarm: from the remote, with no room' 1 prewarm "$work/both_of" \
    --target $target --cache-dir "$work/hosts/narrower"
says 'prewarm: says what is lost' 'the kernel was fetched, but the store'
unset GROAT_CACHE_MAX_BYTES
expect 'pull: two kernels' 0 fleet pull "$work/both_of" --target $target \
    --cache-dir "$work/hosts/again"
answers 'pull: both' '2 of 2 objects kept'
GROAT_CXX=$work/none
export GROAT_CXX
expect 'no compiler: pull' 0 fleet pull "$work/both_of" --target $target \
    --cache-dir "$work/hosts/compilerless"
answers 'no compiler: both, also what told the compiler' '2 of 2 objects kept'
unset GROAT_CXX
expect 'prewarm: with one kernel there' 0 prewarm "$work/second" \
    --target $target --cache-dir "$work/hosts/half"
answers 'prewarm: one is fetched' '1 fetched, 0 compiled'
expect 'prewarm: and with both' 0 prewarm "$work/both_of" --target $target \
    --cache-dir "$work/hosts/half" --json
answers 'prewarm: one was there' '"present": 1'
answers 'prewarm: the other came' '"fetched": 1'
for object in $(cd "$work/pushed" && find v1 -type f ! -name '*.*'); do
    mv "$work/pushed/$object" "$work/pushed/$object.txt"
done
expect 'pull: what is held' 0 fleet pull "$work/both_of" --target $target \
    --cache-dir "$work/hosts/again"
answers 'pull: is not asked for' '2 of 2 objects kept, 0 not there, 0 not good'
rm -r "$work/pushed"

# ---- key rotation

GROAT_REMOTE=file://$work/folder
cat "$work/trust" "$work/trust2" >"$work/both"
rm -rf "$work/hosts" "$work/folder"/*
from 'rotation: the old key signs' a compiled --remote-key "$work/key"
GROAT_TRUST=$work/both
from 'rotation: both are trusted' b remote
from 'rotation: the new key signs' c compiled --remote-key "$work/key2" \
    --remote "file://$work/tmp"
GROAT_TRUST=$work/trust2
from 'rotation: the new one alone' d remote --remote "file://$work/tmp"
from 'rotation: the old one is refused' e compiled
expect 'rotation: a leaked key: check' 1 fleet check
answers 'rotation: a leaked key: what it signed' '2 not good'
expect 'rotation: a leaked key: removal' 1 fleet check --remove
answers 'rotation: a leaked key: what it signed goes' '2 objects removed'
expect 'rotation: a leaked key: push' 0 fleet push --remote-key "$work/key2" \
    --cache-dir "$work/hosts/e"
answers 'rotation: a leaked key: is replaced' '2 of 2 objects sent'
from 'rotation: a leaked key: a host afterwards' f remote
object=$(cd "$work/folder" && find v1 -type f | head -n 1)
truncate -s 1000 "$work/folder/$object"
expect 'a damaged object: check' 1 fleet check --remove
answers 'a damaged object: is cut short' "$object  the object is not an entry, or is cut short"
answers 'a damaged object: goes' '1 object removed'
expect 'a damaged object: push' 0 fleet push --remote-key "$work/key2" \
    --cache-dir "$work/hosts/e"
answers 'a damaged object: is sent again' '1 of 2 objects sent'
expect 'pull: what is not there' 1 fleet pull "$work/second" --target $target \
    --cache-dir "$work/hosts/g"
unset GROAT_TRUST
expect 'rotation: no key is trusted' 2 fleet check --remove
says 'rotation: nothing is removed' 'no object would stay'
: >"$work/no_keys"
expect 'rotation: an empty list of keys' 2 fleet check --remove \
    --trust "$work/no_keys"
GROAT_TRUST=$work/trust2
export GROAT_TRUST
expect 'rotation: good ones stay' 0 fleet check --remove
answers 'rotation: good ones stay, all' '0 objects removed'
GROAT_TRUST=$work/trust
expect 'a remote that is gone' 1 prewarm "$work/second" --target $target \
    --remote-key "$work/key" --cache-dir "$work/hosts/unsent" \
    --remote http://localhost:1/x
says 'a remote that is gone: said once' 'warning: 1 kernel was not sent'
answers 'a remote that is gone: costs nothing else' '1 compiled, 0 failed'
mkdir "$work/later"
expect 'a remote that came later' 0 prewarm "$work/second" --target $target \
    --remote-key "$work/key" --cache-dir "$work/hosts/unsent" \
    --remote "file://$work/later"
answers 'a remote that came later: gets it' '1 of those that were there were sent'
expect 'a remote that came later: has it' 0 fleet check "$work/second" \
    --target $target --remote "file://$work/later"
expect 'a remote that has it' 0 prewarm "$work/second" --target $target \
    --remote-key "$work/key" --cache-dir "$work/hosts/unsent" \
    --remote "file://$work/later"
lacks 'a remote that has it: is sent nothing' 'were sent'
rm -rf "$work/later/v1"
: >"$work/later/v1"
expect 'a remote that takes none' 1 prewarm "$work/second" --target $target \
    --remote-key "$work/key" --cache-dir "$work/hosts/unsent" \
    --remote "file://$work/later"
says 'a remote that takes none: is said' 'warning: 1 kernel was not sent'
expect 'a target that does not exist' 2 prewarm "$work/manifest" \
    --target $target --only-target cuda:sm90a --cache-dir "$work/hosts/open"
says 'a target: says which is near' 'did you mean sm_90a'
if [ "$(id -u)" = 0 ]; then
    chown 65534 "$work/key"
    expect 'a key of somebody else' 1 prewarm "$work/manifest" \
        --target $target --remote-key "$work/key" --cache-dir "$work/hosts/open"
    says 'a key of somebody else: why' 'belongs to user 65534, not to user 0'
    chown 0 "$work/key"
fi
chmod 440 "$work/key"
expect 'a key that others may read' 1 prewarm "$work/manifest" \
    --target $target --remote-key "$work/key" --cache-dir "$work/hosts/open"
says 'a key that others may read: why' 'nothing would be sent'
chmod 600 "$work/key"

# ---- a host without the libraries

mkdir "$work/broken"
for soname in libcurl.so.4 libcurl-gnutls.so.4 libhiredis.so.0.14 \
    $(/sbin/ldconfig -p | sed -n 's/^.\(libhiredis[.]so[.][^ ]*\) .*/\1/p'); do
    echo 'no library' >"$work/broken/$soname"
done
with_libraries=${LD_LIBRARY_PATH-}
LD_LIBRARY_PATH=$work/broken${with_libraries:+:$with_libraries}
export LD_LIBRARY_PATH
from 'no libcurl: a kernel is compiled' nocurl compiled \
    --remote http://localhost:1/x --remote-key "$work/key"
says 'no libcurl: why' 'libcurl.so.4 cannot be opened: '
expect 'no libcurl: a list' 1 fleet ls --remote s3://bucket/x
says 'no libcurl: a list: why' 'libcurl.so.4 cannot be opened: '
GROAT_LEASES=redis://localhost:1
export GROAT_LEASES
from 'no hiredis: a kernel is compiled' nolease compiled \
    --remote "file://$work/tmp2"
says 'no hiredis: why' 'no leases are taken'
unset GROAT_LEASES
LD_LIBRARY_PATH=$with_libraries
[ -n "$with_libraries" ] || unset LD_LIBRARY_PATH

# ---- bundles in a registry

if start_registry; then
    where=oci+http://user:word@localhost:$registry_port/fleet/kernels
    expect 'registry: a bundle' 0 cache export --cache-dir "$work/hosts/a" \
        -o "$work/one.bundle" --key "$work/key"
    expect 'registry: push' 0 cache push "$work/one.bundle" "$where:v1" --json
    digest=$(sed -n 's/^ *"digest": "\(.*\)".*/\1/p' "$out")
    expect 'registry: push again' 0 cache push "$work/one.bundle" "$where"
    answers 'registry: it has the same digest' "$digest"
    for name in "$where@$digest" "$where:v1"; do
        rm -f "$work/two.bundle"
        expect "registry: pull ${name#*kernels}" 0 cache pull "$name" \
            -o "$work/two.bundle"
        cmp -s "$work/one.bundle" "$work/two.bundle" &&
            pass 'registry: the same bytes' || fail 'registry: the same bytes'
    done
    expect 'registry: a password with a slash' 0 cache pull \
        "oci+http://%73lash:w%2Fo%2Brd%3D@${where#*@}:v1" -o "$work/none"
    for word in 'w/o+rd=' 'w%2' 'w%00'; do
        expect "registry: the password $word" 2 cache pull \
            "oci+http://%73lash:$word@${where#*@}:v1" -o "$work/none"
        says 'registry: how it is written' 'a / of the password is %2F'
    done
    rm -f "$work/none"
    expect 'registry: a store' 1 cache pull "$where:v1" \
        -o "$work/hosts/b/groat.sqlite"
    says 'registry: is not replaced' 'is a store, or a file of one; name another'
    run cache pull "$where:v2" -o "$work/none"
    says 'registry: no such tag' 'has no manifests/v2'
    expect 'registry: a name in capitals' 2 cache push "$work/one.bundle" \
        "${where%/*}/Kernels:v1"
    says 'registry: what names are' 'a NAME of a-z 0-9'
    run cache pull "${where#*word@}" -o "$work/none"
    says 'registry: a bad URL' 'oci://[USER:PASSWORD@]HOST/NAME'
    run cache pull "oci+http://localhost:$registry_port/fleet/kernels:v1" \
        -o "$work/none"
    says 'registry: no login' 'the server answered 401'
    run cache push "$work/trust" "$where"
    says 'registry: what is no bundle' 'file is not a database'
    run cache push "$work/one.bundle" "oci+http://user:word@localhost:1/x"
    grep -q word "$err" && fail 'registry: no password is told' ||
        pass 'registry: no password is told'
    # A changed layer is refused.
    blob=$(find "$work/registry" -path "*/blobs/*" -name data -size +8k | head -n 1)
    printf x | dd of="$blob" conv=notrunc bs=1 seek=5000 2>/dev/null
    expect 'registry: a changed layer' 1 cache pull "$where@$digest" \
        -o "$work/none"
    [ ! -e "$work/none" ] && pass 'registry: nothing is left of a failure' ||
        fail 'registry: nothing is left of a failure'
else
    skip 'there is no docker-registry, or no htpasswd'
fi

if start_token_registry; then
    at=localhost:$tokens_port/fleet/kernels
    where=oci+http://user:word@$at
    expect 'tokens: a bundle' 0 cache export --cache-dir "$work/hosts/a" \
        -o "$work/one.bundle"
    expect 'tokens: push' 0 cache push "$work/one.bundle" "$where:v1"
    rm -f "$work/two.bundle"
    expect 'tokens: pull' 0 cache pull "$where:v1" -o "$work/two.bundle"
    cmp -s "$work/one.bundle" "$work/two.bundle" &&
        pass 'tokens: the same bytes' || fail 'tokens: the same bytes'
    expect 'tokens: no login' 1 cache pull "oci+http://$at:v1" -o "$work/none"
    says 'tokens: no login: why' 'no token by http://localhost'
    for mode in refuse empty garbage; do
        echo $mode >"$work/token.mode"
        expect "tokens: $mode" 1 cache pull "$where:v1" -o "$work/none"
        says "tokens: $mode: why" 'no token by http://localhost'
        grep -q word "$err" && fail "tokens: $mode: no password is told" ||
            pass "tokens: $mode: no password is told"
    done
else
    skip 'there is no docker-registry, or no openssl'
fi

# A server that the registry redirects to cannot choose where the login is sent.
port=$(free_port)
python3 "$tree/tests/fleet/thief.py" "$port" "$work/thief.log" >/dev/null 2>&1 &
engines="$engines $!"
wait_for answers_http "$port"
expect 'a thief behind a registry' 1 cache pull \
    "oci+http://user:word@localhost:$port/a:v1" -o "$work/none"
says 'a thief behind a registry: why' 'the server answered 401'
grep -q '^/blob$' "$work/thief.log" && ! grep -q token "$work/thief.log" &&
    pass 'and it gets no login' ||
    fail 'and it gets no login' "$(cat "$work/thief.log")"

# ---- a remote whose answers are corrupted

if python3 "$tree/tests/fleet/hostile.py" "$groat" 2000 >"$out" 2>"$err"; then
    pass 'nothing changed is ever kept'
else
    fail 'nothing changed is ever kept' "$(cat "$out" "$err" | head -c 500)"
fi

if [ -z "$nginx_port" ]; then
    skip 'no faults are made without nginx'
    finish
fi

# ---- one compile per fleet

# tell_redis COMMAND: prints what the lease server at $port answers.
tell_redis() {
    python3 -c 'import socket, sys
s = socket.create_connection(("localhost", int(sys.argv[1])))
s.sendall(("AUTH w/o%rd\r\nSELECT 3\r\n" + sys.argv[2] + "\r\nQUIT\r\n").encode())
print(s.makefile().read())' "$port" "$1"
}

has_lease() {
    tell_redis 'KEYS *' | grep -o 'groat:1:.*' >"$work/lease"
}

# A lease that ran out and is another host's by then is not given back.
another_owner() {
    GROAT_REMOTE=$objects/owner
    "$groat" build paged_attention_decode --target cpu:sm_90a \
        --cache-dir "$work/hosts/owner" --remote-key "$work/key" \
        >/dev/null 2>&1 &
    apart=$!
    wait_for has_lease && kill -STOP "$apart" ||
        fail "$lease_server: the lease of a build"
    lease=$(tr -d '\r' <"$work/lease")
    tell_redis "SET $lease another PX 600000" >/dev/null
    kill -CONT "$apart"
    wait "$apart"
    if tell_redis "GET $lease" | grep -q another; then
        pass "$lease_server: another host's lease is left alone"
    else
        fail "$lease_server: another host's lease is left alone" "$lease"
    fi
    tell_redis "DEL $lease" >/dev/null
}

cat >"$work/slow-c++" <<'END'
#!/bin/sh
case "$* " in *'-x c++ - '*) sleep 1 ;; esac
exec c++ "$@"
END
chmod +x "$work/slow-c++"

# use_leases SERVER: one compile per fleet with that lease server.
use_leases() {
    lease_server=$1
    objects=http://localhost:$nginx_port/$lease_server
    GROAT_REMOTE=$objects/crowd
    start_redis --requirepass word
    GROAT_LEASES=unix://$work/redis.sock
    export GROAT_LEASES
    rm -rf "$work/hosts"
    from "$lease_server: one that wants a password costs a compile" p compiled
    says "$lease_server: and is said" ': NOAUTH'
    run doctor
    answers "$lease_server: doctor tells it, too" 'redis.sock: NOAUTH'
    # Over TCP, with a password, and in another database.
    port=$(free_port)
    start_redis --port "$port" --bind localhost --requirepass 'w/o%rd'
    GROAT_LEASES=redis://:w%2Fo%25rd@localhost:$port/3
    found=$(crowd 3 4 4)
    if [ "$found" = 'compiled=4 disk=36 remote=8 ' ]; then
        pass "$lease_server: a crowd compiles each kernel once"
    else
        fail "$lease_server: a crowd compiles each kernel once" \
            "$found $(cat "$work/crowd.err")"
    fi
    run doctor
    answers "$lease_server: doctor" 'ok  leases'
    another_owner
    # A stopped server does not answer at all.
    kill -STOP $redis
    GROAT_REMOTE=$objects/stopped
    from "$lease_server: stopped, it costs a compile" s compiled \
        --remote-key "$work/key"
    from "$lease_server: and the object is there" t remote
    kill -9 $redis
    wait $redis 2>/dev/null
    GROAT_REMOTE=$objects/killed
    from "$lease_server: dead, it costs a compile" u compiled
    run doctor
    answers "$lease_server: doctor tells of a dead one" '--  leases'
    # It cannot release leases: existing objects are found anyway.
    start_redis --rename-command EVAL ''
    GROAT_LEASES=unix://$work/redis.sock
    GROAT_REMOTE=$objects/kept
    from "$lease_server: without scripts: the first compiles" v compiled \
        --remote-key "$work/key"
    says "$lease_server: without scripts: is said" 'does not release leases'
    from "$lease_server: without scripts: the second takes it" w remote \
        --remote-key "$work/key"
    run doctor --remote-key "$work/key"
    answers "$lease_server: without scripts: doctor" 'but does not release leases: ERR unknown command'
    # Killed amid a crowd and started again: all are served, each kernel is
    # compiled once more at most.
    start_redis --port "$port" --bind localhost --requirepass 'w/o%rd'
    GROAT_LEASES=redis://:w%2Fo%25rd@localhost:$port/3
    GROAT_REMOTE=$objects/restarted
    GROAT_CXX=$work/slow-c++
    export GROAT_CXX
    crowd 2 2 3 >"$work/served" &
    apart=$!
    unset GROAT_CXX
    wait_for has_lease || fail "$lease_server: a lease of the crowd"
    kill -9 $redis
    wait $redis 2>/dev/null
    start_redis --port "$port" --bind localhost --requirepass 'w/o%rd'
    wait $apart
    if tr ' =' '\n ' <"$work/served" | awk '{ all += $2 }
        $1 == "compiled" { made = $2 }
        END { exit !(all == 12 && made >= 3 && made <= 6) }'; then
        pass "$lease_server: killed amid a crowd, all are served"
    else
        fail "$lease_server: killed amid a crowd, all are served" \
            "$(cat "$work/served" "$work/crowd.err")"
    fi
    unset GROAT_LEASES
}
for server in redis-server valkey-server; do
    if command -v $server >/dev/null 2>&1; then
        use_leases $server
    else
        skip "there is no $server"
    fi
done

# A lying server: each mode makes a fresh host compile soon.
GROAT_REMOTE=http://localhost:$nginx_port/lies
export GROAT_LEASES
for mode in drip garbage huge nested yes one nil error close echo; do
    rm -f "$work/lies"
    python3 "$tree/tests/fleet/lying_redis.py" $mode "$work/lies" &
    engines="$engines $!"
    wait_for test -s "$work/lies"
    GROAT_LEASES=redis://user:pass-word@localhost:$(cat "$work/lies")
    from "a lease server that says $mode" "l$mode" compiled \
        --remote "$GROAT_REMOTE/$mode" --remote-key "$work/key"
    lacks "a lease server that says $mode: no password is shown" 'pass-word'
done
says 'a server that repeats a login: is told' 'the server refuses the login'
run doctor
lacks 'doctor shows no password, either' 'pass-word'
# A lease server that is down keeps no upload waiting: each of these waited for
# the next try of it, half a minute at most.
for i in $(seq 24); do
    echo "{\"spec\": \"tile_loader_lds:ld=$((1024 + 64 * i))\", \"target\": \"$target\"}"
done >"$work/dozen"
GROAT_LEASES=redis://localhost:1
mkdir "$work/dozens"
timeout 60 "$groat" prewarm "$work/dozen" --remote "file://$work/dozens" \
    --remote-key "$work/key" --cache-dir "$work/hosts/dozen" >"$out" 2>"$err" &&
    pass 'uploads, and no lease server' ||
    fail 'uploads, and no lease server' "exit code $?: $(head -c 300 "$err")"
[ "$(find "$work/dozens" -type f | wc -l)" -eq 48 ] && pass 'all are sent' ||
    fail 'all are sent' "$(find "$work/dozens" -type f | wc -l) objects"
unset GROAT_LEASES
http_proxy='http://user:pass-word#@localhost:1' from 'a proxy that is none' noproxy \
    compiled --remote http://localhost:1/x
says 'a proxy that is none: is told' 'the proxy that the environment names is no URL'
lacks 'a proxy that is none: no password is shown' 'pass-word'

# ---- listings that are invalid, or without dates

AWS_ENDPOINT_URL=http://localhost:$nginx_port
AWS_REGION=nowhere
export AWS_ENDPOINT_URL AWS_REGION
name=v1/cpu-gfx950/00/00000000000000000000000000000000
echo '<html>log in first</html>' >"$work/nginx/dav/page"
echo "<ListBucketResult><Contents><Key>$name</Key>" >"$work/nginx/dav/cut"
{
    echo '<ListBucketResult><IsTruncated>false</IsTruncated>'
    echo "<Contents><Key>$name</Key><Size>5</Size></Contents>"
    echo "<Contents><Key>other/$name</Key></Contents></ListBucketResult>"
} >"$work/nginx/dav/undated"
for bucket in page cut; do
    expect "a listing that is none: $bucket" 1 fleet check \
        --remote "s3://$bucket"
    says "a listing that is none: $bucket: is said" 'the answer is no listing'
done
sed 's/false/true/' "$work/nginx/dav/undated" >"$work/nginx/dav/endless"
expect 'a listing that gives one page for ever' 1 fleet ls --remote s3://endless
says 'a listing that gives one page for ever: is said' 'does not go on behind'
expect 'a listing without dates' 0 fleet ls --remote s3://undated
answers 'a listing without dates: ours alone' '1 objects of 5 bytes'
expect 'what has no date is not old' 0 fleet gc --older-than 1 \
    --remote s3://undated
answers 'what has no date is not old: it stays' '0 objects removed'
unset AWS_ENDPOINT_URL AWS_REGION
GROAT_REMOTE=http://localhost:$nginx_port/groat
export GROAT_REMOTE
GROAT_CACHE_MAX_BYTES=20K
export GROAT_CACHE_MAX_BYTES
expect 'a store that does not take it' 1 fleet pull "$work/manifest" \
    --target $target --cache-dir "$work/hosts/small"
answers 'a store that does not take it: is said' 'the store did not take the entry'
unset GROAT_CACHE_MAX_BYTES

# ---- faults

if ! start_proxy; then
    fail 'the proxy starts'
    finish
fi
through=http://localhost:$port/faults
GROAT_REMOTE=http://localhost:$nginx_port/faults
rm -rf "$work/hosts"
from 'faults: one host sends' a compiled --remote-key "$work/key"
expect 'faults: and another kernel' 0 build $spec:ld=2048 --target $target \
    --cache-dir "$work/hosts/a" --remote-key "$work/key"
key=$("$groat" key $spec:ld=2048 --target $target)
GROAT_REMOTE=$through
other=v1/cpu-gfx950/$(echo "$key" | cut -c 1-2)/$key

# fault MODE WANTED [TEXT]: checks what a fresh host gets and reports.
n=0
fault() {
    n=$((n + 1))
    echo "$1" >"$work/mode"
    from "fault: $1" "f$n" "$2" --remote-key "$work/key"
    [ -z "${3-}" ] || says "fault: $1: is said" "$3"
}
fault pass remote
fault 'latency 300' remote
fault 'status 403' compiled 'the server answered 403'
fault 'status 429' compiled 'the server answered 429'
fault 'status 503' compiled 'the server answered 503'
fault 'status 404' compiled
fault garbage compiled
fault half compiled
fault lie compiled
fault endless compiled 'remote http'
fault drip compiled 'is not used for a while'
fault hang compiled 'is not used for a while'
fault "other $other" compiled
fault 'redirect file:///etc/hostname' compiled
fault "redirect http://localhost:$port/loop" compiled
fault pass remote

# The object that the old key signed is replayed after it was replaced: it is
# taken as long as the old key is trusted, and then it is the same kernel.
key=$("$groat" key $spec --target $target)
object=$work/nginx/dav/faults/v1/cpu-gfx950/$(echo "$key" | cut -c 1-2)/$key
cp "$object" "$work/older"
rm "$object"
GROAT_TRUST=$work/trust2
from 'replay: the new key signs' renewed compiled --remote-key "$work/key2" \
    --remote "http://localhost:$nginx_port/faults"
if [ -s "$object" ] && ! cmp -s "$object" "$work/older"; then
    pass 'replay: there is a new object'
else
    fail 'replay: there is a new object'
fi
echo "replay $work/older" >"$work/mode"
from 'replay: an old key that is not trusted' replayed compiled
GROAT_TRUST=$work/both
from 'replay: an old key that is trusted' again remote

# Two hosts send an object at once: the first one stays.
echo blind >"$work/mode"
cp "$object" "$work/newer"
echo 'of another host' >"$object"
expect 'sent at once: the second' 0 fleet push --cache-dir "$work/hosts/a" \
    --remote-key "$work/key"
answers 'sent at once: it sends nothing' '0 of 4 objects sent'
[ "$(cat "$object")" = 'of another host' ] && pass 'sent at once: the first' ||
    fail 'sent at once: the first' "$(head -c 100 "$object")"
cp "$work/newer" "$object"
echo pass >"$work/mode"

# ---- proxy variables

GROAT_REMOTE=http://remote.example/faults
from 'no proxy: the host is not found' noproxy compiled
http_proxy=http://localhost:$port
export http_proxy
from 'http_proxy: it is asked' proxy remote
no_proxy=remote.example
export no_proxy
from 'no_proxy: it is not asked' exempt compiled
unset http_proxy no_proxy

finish
