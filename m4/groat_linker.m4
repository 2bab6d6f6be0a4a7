# SPDX-License-Identifier: Apache-2.0
#
# GROAT_LINKER: GROAT_LDFLAGS for libgroat.so: the version script where the
# linker takes one, and no undefined symbols.  A sanitizer's own symbols come
# from the program, so a sanitized library may have them undefined.
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
    [AC_CACHE_CHECK([whether the linker takes -z defs], [groat_cv_z_defs],
        [LDFLAGS="$LDFLAGS -Wl,-z,defs"
        AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])],
            [groat_cv_z_defs=yes], [groat_cv_z_defs=no])
        LDFLAGS=$groat_save_LDFLAGS])
    AS_IF([test "$groat_cv_z_defs" = yes],
        [GROAT_LDFLAGS="$GROAT_LDFLAGS -Wl,-z,defs"])])
AC_SUBST([GROAT_LDFLAGS])])
