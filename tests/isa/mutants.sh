#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Every wait and barrier of the code objects taken away or loosened, one at a
# time: the machine must notice each.
. "$(dirname "$0")/common.sh"
isa mutants "$@"
