# SPDX-License-Identifier: Apache-2.0
#
# The families: embedded in the library and installed for reading, for editors
# and for families outside the library that build on common/.
embedded_files = \
	%D%/common/burst.h \
	%D%/common/cpu_hooks.h \
	%D%/common/fragment.h \
	%D%/common/image.h \
	%D%/common/mma.h \
	%D%/common/pv.h \
	%D%/common/stream.h \
	%D%/common/swizzle.h \
	%D%/common/vendor.h \
	%D%/common/view.h \
	%D%/common/vendor_cpu.h \
	%D%/common/vendor_cuda.h \
	%D%/common/vendor_hip.h \
	%D%/plain_read/args.h \
	%D%/plain_read/params.def \
	%D%/plain_read/params.h \
	%D%/plain_read/plain_read.h \
	%D%/subtile_loader/args.h \
	%D%/subtile_loader/params.def \
	%D%/subtile_loader/params.h \
	%D%/subtile_loader/subtile_loader.h \
	%D%/subtile_loader_st_8x32/args.h \
	%D%/subtile_loader_st_8x32/params.def \
	%D%/subtile_loader_st_8x32/params.h \
	%D%/subtile_loader_st_8x32/subtile_loader_st_8x32.h \
	%D%/tile_loader_lds/args.h \
	%D%/tile_loader_lds/params.def \
	%D%/tile_loader_lds/params.h \
	%D%/tile_loader_lds/tile_loader_lds.h

nobase_dist_pkgdata_DATA += $(embedded_files)
EXTRA_DIST += \
	%D%/defaults.sh \
	%D%/embed.sh \
	%D%/README.md \
	%D%/plain_read/README.md \
	%D%/subtile_loader/README.md \
	%D%/subtile_loader_st_8x32/README.md \
	%D%/tile_loader_lds/README.md

# How the CLI and the tests feed and check each family.
groat_hosts = \
	%D%/plain_read/host.c \
	%D%/subtile_loader/host.c \
	%D%/subtile_loader_st_8x32/host.c \
	%D%/tile_loader_lds/host.c

groat_SOURCES += $(groat_hosts)
