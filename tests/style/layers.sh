#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# base < {spec, cache < fleet} < judge < backend < tensor < core < attention <
# cli: an #include names a file of its layer or of one that the table allows.
. "$(dirname "$0")/lib.sh"
cd "$top_srcdir" || exit 1

allowed() {
    case $1:$2 in
    *:groat.h | *:groat_*.h | cli:cli/* | core:core/*) ;;
    base:base/* | spec:base/* | spec:spec/* | cache:base/* | cache:cache/*) ;;
    backend:base/* | backend:backend/* | backend:spec/arch.h) ;;
    judge:base/* | judge:judge/* | judge:spec/arch.h | backend:judge/judge.h) ;;
    # The hooks that the judge provides to kernels.
    judge:kernels-src/common/cpu_hooks.h) ;;
    judge:kernels-src/common/cpu_tensor_map.h) ;;
    backend:kernels-src/common/cpu_tensor_map.h) ;;
    tensor:base/* | tensor:tensor/* | tensor:spec/arch.h) ;;
    tensor:backend/backend.h | core:tensor/*) ;;
    attention:attention/* | attention:base/* | attention:core/core.h) ;;
    attention:tensor/tensor.h | attention:spec/arch.h | attention:spec/code.h) ;;
    attention:kernels-src/paged_attention_decode/args.h) ;;
    attention:kernels-src/kv_cache_append/args.h) ;;
    fleet:base/* | fleet:fleet/* | fleet:cache/cache.h | core:fleet/remote.h | core:fleet/oci.h) ;;
    core:base/* | core:spec/* | core:backend/* | core:cache/cache.h) ;;
    cli:kernels-src/driver/driver.h | cli:kernels-src/driver/shared.h) ;;
    cli:kernels-src/driver/element.h | cli:kernels-src/driver/measured.h) ;;
    cli:base/clock.h | cli:base/cores.h | cli:base/error.h) ;;
    cli:base/fs.h | cli:base/grow.h | cli:base/near.h) ;;
    cli:base/str.h | cli:spec/expr.h) ;;
    *) return 1 ;;
    esac
}

for file in $(library_sources | grep -v '^include/'); do
    layer=${file#src/}
    layer=${layer%%/*}
    for include in $(sed -n 's/^ *# *include "\([^"]*\)".*/\1/p' "$file"); do
        allowed "$layer" "$include" || bad "$file includes \"$include\""
    done
done

# Families are named by the help's examples alone: the tool gets them from their
# drivers and from kernels-src/driver/measured.c.
for family in kernels-src/*/params.def; do
    name=$(basename "$(dirname "$family")")
    for file in $(library_sources | grep '^src/cli/' |
        grep -vx 'src/cli/commands.c' | grep -vx 'src/cli/cmd_help.c'); do
        grep -qw "$name" "$file" && bad "$file names the family $name"
    done
done
finish
