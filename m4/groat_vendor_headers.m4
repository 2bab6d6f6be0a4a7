# SPDX-License-Identifier: Apache-2.0
#
# GROAT_VENDOR_HEADERS: looks for the vendors' own headers.  The results
# are GROAT_CUDA_CPPFLAGS and GROAT_HIP_CPPFLAGS, for the ABI tests alone, and
# GROAT_NVTX_CPPFLAGS, for base/ranges.c; each holds -DHAVE_CUDA_H=1, -DHAVE_NVTX_H=1 or
# -DHAVE_HIP_H=1 and the place when it was found.
#
# GROAT_FIND_HEADER(VARIABLE, HEADER, DEFINE, PLACE...)
AC_DEFUN([GROAT_FIND_HEADER],
[AC_MSG_CHECKING([for $2])
$1=
for groat_place in $4; do
    AS_IF([test -f "$groat_place/$2"],
        [$1="-D$3=1"
        AS_IF([test "$groat_place" != /usr/include],
            [$1="$$1 -isystem $groat_place"])
        break])
done
AS_IF([test -n "$$1"], [AC_MSG_RESULT([$groat_place])],
    [AC_MSG_RESULT([no])])])

AC_DEFUN([GROAT_VENDOR_HEADERS],
[AC_ARG_VAR([CUDA_HOME], [CUDA toolkit, for its headers in ABI tests])
AC_ARG_VAR([ROCM_PATH], [ROCm, for its headers in ABI tests])
groat_cuda_places="/usr/local/cuda/include /usr/include"
AS_IF([test -n "$CUDA_HOME"],
    [groat_cuda_places="$CUDA_HOME/include $groat_cuda_places"])
groat_hip_places="/opt/rocm/include /usr/include"
AS_IF([test -n "$ROCM_PATH"],
    [groat_hip_places="$ROCM_PATH/include $groat_hip_places"])
GROAT_FIND_HEADER([GROAT_CUDA_CPPFLAGS], [cuda.h], [HAVE_CUDA_H],
    [$groat_cuda_places])
AS_IF([test -n "$GROAT_CUDA_CPPFLAGS" && test -f "$groat_place/nvrtc.h"],
    [GROAT_CUDA_CPPFLAGS="$GROAT_CUDA_CPPFLAGS -DHAVE_NVRTC_H=1"])
GROAT_FIND_HEADER([GROAT_HIP_CPPFLAGS], [hip/hip_runtime_api.h], [HAVE_HIP_H],
    [$groat_hip_places])
for groat_place in $groat_hip_places; do
    AS_IF([test -n "$GROAT_HIP_CPPFLAGS" && {
        test -f "$groat_place/amd_comgr/amd_comgr.h" ||
        test -f "$groat_place/amd_comgr.h"; }],
        [GROAT_HIP_CPPFLAGS="$GROAT_HIP_CPPFLAGS -DHAVE_AMD_COMGR_H=1"
        break])
done
GROAT_FIND_HEADER([GROAT_NVTX_CPPFLAGS], [nvtx3/nvToolsExt.h], [HAVE_NVTX_H],
    [$groat_cuda_places])
groat_cuda_h=no
groat_hip_h=no
AS_IF([test -n "$GROAT_CUDA_CPPFLAGS"], [groat_cuda_h=yes])
AS_IF([test -n "$GROAT_HIP_CPPFLAGS"], [groat_hip_h=yes])
AC_SUBST([GROAT_CUDA_CPPFLAGS])
AC_SUBST([GROAT_NVTX_CPPFLAGS])
AC_SUBST([GROAT_HIP_CPPFLAGS])])
