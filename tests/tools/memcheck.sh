#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# memcheck.sh PROGRAM [ARG...]: a test program under valgrind, where any error
# and any definite leak is a failure.  Programs that valgrind cannot follow
# are skips (77) with their reason.
case ${1##*/} in
test_judge* | test_banks* | test_draw*)
    # memcheck takes a jump between stacks for a use of freed frames.
    echo "SKIP: $1 runs fibers, whose stacks memcheck cannot follow"
    exit 77
    ;;
esac
case $1 in
*/unit/*/test_hiprtc | */unit/*/test_nvrtc)
    # tests/shim has what groat does with them.
    echo "SKIP: $1 runs a vendor's compiler for minutes"
    exit 77
    ;;
esac
case $1 in
*/unit/cache/test_sign)
    echo "SKIP: $1 looks at a stack that was left, which memcheck forbids"
    exit 77
    ;;
esac
GROAT_TEST_STEP=21
export GROAT_TEST_STEP
# One process, so that valgrind's answer is the program's.
CK_FORK=no
export CK_FORK
exec valgrind --quiet --leak-check=full --errors-for-leak-kinds=definite \
    --show-leak-kinds=definite --num-callers=40 --error-exitcode=9 \
    --suppressions="$(dirname "$0")/memcheck.supp" "$@"
