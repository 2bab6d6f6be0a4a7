#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints a C file that lists the drivers of the families, one for each folder
# that has a host.c:
#     sh list.sh KERNELS_SRC > drivers.c
set -eu
LC_ALL=C
export LC_ALL
cd "$1"

printf '/* Made by kernels-src/driver/list.sh; do not edit. */\n'
printf '#include "kernels-src/driver/driver.h"\n\n'
for host in */host.c; do
    printf 'extern const groat_driver groat_driver_%s;\n' "${host%/host.c}"
done
printf '\nconst groat_driver *const groat_drivers[] = {\n'
for host in */host.c; do
    printf '    &groat_driver_%s,\n' "${host%/host.c}"
done
printf '    NULL,\n};\n'
