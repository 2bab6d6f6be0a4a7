#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The tests of the tests: what the machine computes, what it and the checks of
# listings must refuse.
. "$(dirname "$0")/common.sh"
"$python" "$top_srcdir/tests/isa/self_test.py"
