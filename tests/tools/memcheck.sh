#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# memcheck.sh PROGRAM [ARG...]: runs a test program under valgrind; any error
# and any definite leak is a failure.  Programs that valgrind cannot follow are
# skipped (77) with a reason.
case ${1##*/} in
test_judge* | test_banks* | test_draw*)
    # memcheck mistakes a switch of stacks for a use of freed frames.
    echo "SKIP: $1 runs fibers, whose stacks memcheck cannot follow"
    exit 77
    ;;
esac
case $1 in
*/unit/*/test_hiprtc | */unit/*/test_nvrtc)
    # tests/shim covers groat's use of them.
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
# One process, so that valgrind's exit status is the program's.
CK_FORK=no
export CK_FORK
exec valgrind --quiet --leak-check=full --errors-for-leak-kinds=definite \
    --show-leak-kinds=definite --num-callers=40 --error-exitcode=9 \
    --suppressions="$(dirname "$0")/memcheck.supp" "$@"
