# SPDX-License-Identifier: Apache-2.0
#
# GROAT_SANITIZE: --enable-sanitize=LIST builds everything with
# -fsanitize=LIST.  The flags go to GROAT_SANITIZE_FLAGS, for compiler and
# linker, and never into CFLAGS, which belongs to the user.
AC_DEFUN([GROAT_SANITIZE],
[AC_ARG_ENABLE([sanitize],
    [AS_HELP_STRING([--enable-sanitize=LIST],
        [address,undefined or thread: instrument library, CLI and tests])],
    [groat_sanitize=$enableval], [groat_sanitize=no])
GROAT_SANITIZE_FLAGS=
AS_CASE([$groat_sanitize],
    [no], [],
    [yes], [AC_MSG_ERROR([--enable-sanitize needs a list dnl
such as address,undefined])],
    [GROAT_SANITIZE_FLAGS="-fsanitize=$groat_sanitize -fno-omit-frame-pointer"
    AS_CASE([,$groat_sanitize,], [*,undefined,*],
        [GROAT_SANITIZE_FLAGS="$GROAT_SANITIZE_FLAGS dnl
-fno-sanitize-recover=undefined"])
    AC_MSG_CHECKING([whether $CC links with $GROAT_SANITIZE_FLAGS])
    groat_save_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS $GROAT_SANITIZE_FLAGS"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])], [AC_MSG_RESULT([yes])],
        [AC_MSG_RESULT([no])
        AC_MSG_ERROR([$CC cannot link with -fsanitize=$groat_sanitize])])
    CFLAGS=$groat_save_CFLAGS])
AC_SUBST([GROAT_SANITIZE_FLAGS])
AC_SUBST([groat_sanitize])])
