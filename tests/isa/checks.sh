#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Instructions and metadata of every code object, against what the families'
# formulas say.
. "$(dirname "$0")/common.sh"
isa checks "$@"
