# SPDX-License-Identifier: Apache-2.0
#
# GROAT_USDT: GROAT_USDT_CPPFLAGS for a build with probes, where sys/sdt.h is
# there.  --enable-usdt=yes makes its absence an error.
AC_DEFUN([GROAT_USDT],
[AC_ARG_ENABLE([usdt],
    [AS_HELP_STRING([--enable-usdt=auto|yes|no],
        [probes for bpftrace and the like (auto: where sys/sdt.h is there)])],
    [], [enable_usdt=auto])
AS_CASE([$enable_usdt], [auto|yes|no], [],
    [AC_MSG_ERROR([--enable-usdt is '$enable_usdt'; allowed: auto, yes, no])])
groat_usdt=no
AS_IF([test "$enable_usdt" != no],
    [AC_CHECK_HEADER([sys/sdt.h], [groat_usdt=yes])])
AS_IF([test "$enable_usdt$groat_usdt" = yesno],
    [AC_MSG_ERROR([--enable-usdt=yes needs sys/sdt.h (systemtap-sdt-dev)])])
GROAT_USDT_CPPFLAGS=
AS_IF([test "$groat_usdt" = yes], [GROAT_USDT_CPPFLAGS=-DGROAT_USDT=1])
AC_SUBST([groat_usdt])
AC_SUBST([GROAT_USDT_CPPFLAGS])])
