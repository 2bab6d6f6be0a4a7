# SPDX-License-Identifier: Apache-2.0
#
# GROAT_LINKER: GROAT_LDFLAGS for libgroat.so: the version script where the
# linker takes one, and no undefined symbols.  A sanitizer's own symbols come
# from the program, so a sanitized library may have them undefined.
# GROAT_NOW_LDFLAGS: symbols are bound when a program starts, not one by one on
# the way to its first kernel, and their table cannot be written afterwards.
AC_DEFUN([GROAT_LINKER],
[AC_REQUIRE([GROAT_SANITIZE])
GROAT_LDFLAGS=
groat_save_LDFLAGS=$LDFLAGS
AC_CACHE_CHECK([whether the linker takes a version script],
    [groat_cv_version_script],
    [echo 'GROAT_TEST { global: main; local: *; };' > conftest.map
    LDFLAGS="$LDFLAGS -Wl,--version-script=conftest.map"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])],
        [groat_cv_version_script=yes], [groat_cv_version_script=no])
    rm -f conftest.map
    LDFLAGS=$groat_save_LDFLAGS])
AS_IF([test "$groat_cv_version_script" = yes],
    [GROAT_LDFLAGS='-Wl,--version-script=$(top_srcdir)/src/groat.map'])
AS_IF([test "$groat_sanitize" = no],
    [GROAT_LINKER_TAKES([defs], [GROAT_LDFLAGS="$GROAT_LDFLAGS -Wl,-z,defs"])])
GROAT_NOW_LDFLAGS=
GROAT_LINKER_TAKES([now], [GROAT_NOW_LDFLAGS=-Wl,-z,now])
AC_SUBST([GROAT_LDFLAGS])
AC_SUBST([GROAT_NOW_LDFLAGS])])

# GROAT_LINKER_TAKES(WORD, ACTION): runs ACTION if the linker takes -z WORD.
AC_DEFUN([GROAT_LINKER_TAKES],
[AC_CACHE_CHECK([whether the linker takes -z $1], [groat_cv_z_$1],
    [groat_save_LDFLAGS=$LDFLAGS
    LDFLAGS="$LDFLAGS -Wl,-z,$1"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])],
        [groat_cv_z_$1=yes], [groat_cv_z_$1=no])
    LDFLAGS=$groat_save_LDFLAGS])
AS_IF([test "$groat_cv_z_$1" = yes], [$2])])
