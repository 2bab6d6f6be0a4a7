# SPDX-License-Identifier: Apache-2.0
#
# GROAT_WARNINGS: sets GROAT_CFLAGS to the language level and those of groat's
# warnings that the compiler knows; --enable-werror makes them errors.
AC_DEFUN([GROAT_TRY_CFLAG],
[AS_VAR_PUSHDEF([cache], [groat_cv_cflag_$1])dnl
AC_CACHE_CHECK([whether $CC takes $1], [cache],
    [groat_save_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS -Werror $1"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])],
        [AS_VAR_SET([cache], [yes])], [AS_VAR_SET([cache], [no])])
    CFLAGS=$groat_save_CFLAGS])
AS_VAR_IF([cache], [yes], [GROAT_CFLAGS="$GROAT_CFLAGS $1"])
AS_VAR_POPDEF([cache])])

AC_DEFUN([GROAT_WARNINGS],
[AC_ARG_ENABLE([werror],
    [AS_HELP_STRING([--enable-werror], [make warnings errors])],
    [], [enable_werror=no])
GROAT_CFLAGS="-std=c11"
m4_foreach_w([flag],
    [-Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes
    -Wmissing-prototypes -Wconversion -Wno-sign-conversion
    -fvisibility=hidden], [GROAT_TRY_CFLAG(flag)
])
AS_IF([test "$enable_werror" = yes], [GROAT_CFLAGS="$GROAT_CFLAGS -Werror"])
AC_SUBST([GROAT_CFLAGS])])
