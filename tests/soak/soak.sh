#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# make check-soak: examples/server under load by ab for $GROAT_SOAK_SECONDS
# (1800), while others fill its store, are killed and are stopped.  Whatever is
# missing for that is a failure here: who asks for a soak wants one.
. "$(dirname "$0")/../cli/common.sh"
. "$(dirname "$0")/parts.sh"

seconds=${GROAT_SOAK_SECONDS:-1800}
case $seconds in
'' | *[!0-9]* | 0*)
    echo "FAIL GROAT_SOAK_SECONDS is '$seconds', not a number from 1"
    exit 1
    ;;
esac
why=$(soak_lacks)
if [ -n "$why" ]; then
    echo "FAIL there can be no soak: $why"
    exit 1
fi
if ! build_server "$work/server"; then
    echo "FAIL the server does not compile: $(head -c 600 "$err")"
    exit 1
fi
soak "$seconds" "$work/server"
