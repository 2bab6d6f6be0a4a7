#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Every code object on the machine of machine/: late and early memory, random
# order of waves, every output byte compared with an oracle of its own.
. "$(dirname "$0")/common.sh"
isa execute "$@"
