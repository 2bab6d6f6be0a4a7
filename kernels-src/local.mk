# SPDX-License-Identifier: Apache-2.0
#
# The families: embedded in the library and installed for reading, for editors
# and for families outside the library that build on common/.
embedded_files = \
	%D%/common/atomics.h \
	%D%/common/atomics_cpu.h \
	%D%/common/atomics_cuda.h \
	%D%/common/atomics_hip.h \
	%D%/common/burst.h \
	%D%/common/code.h \
	%D%/common/convert.h \
	%D%/common/cpu_hooks.h \
	%D%/common/cpu_tensor_map.h \
	%D%/common/cuda_barrier.h \
	%D%/common/cuda_call.h \
	%D%/common/cuda_compat.h \
	%D%/common/cuda_dynamic.h \
	%D%/common/cuda_floats.h \
	%D%/common/cuda_groups.h \
	%D%/common/cuda_math.h \
	%D%/common/cuda_async.h \
	%D%/common/cuda_mma.h \
	%D%/common/cuda_ptx.h \
	%D%/common/cuda_wgmma.h \
	%D%/common/cuda_wmma.h \
	%D%/common/fragment.h \
	%D%/common/image.h \
	%D%/common/kv_args.h \
	%D%/common/kv_entries.h \
	%D%/common/kv_fragments.h \
	%D%/common/kv_layout.h \
	%D%/common/kv_pages.h \
	%D%/common/kv_ring.h \
	%D%/common/kv_slab.h \
	%D%/common/kv_tile.h \
	%D%/common/kv_wgmma.h \
	%D%/common/lanes.h \
	%D%/common/math.h \
	%D%/common/math_cpu.h \
	%D%/common/math_cuda.h \
	%D%/common/math_hip.h \
	%D%/common/mma.h \
	%D%/common/mma_sync.h \
	%D%/common/mma_sync_cpu.h \
	%D%/common/mma_sync_cuda.h \
	%D%/common/pv.h \
	%D%/common/row_indices.h \
	%D%/common/stream.h \
	%D%/common/swizzle.h \
	%D%/common/tensor_map.h \
	%D%/common/tma.h \
	%D%/common/tma_cpu.h \
	%D%/common/tma_cuda.h \
	%D%/common/tma_hip.h \
	%D%/common/vendor.h \
	%D%/common/view.h \
	%D%/common/vendor_cpu.h \
	%D%/common/vendor_cuda.h \
	%D%/common/vendor_hip.h \
	%D%/common/wgmma.h \
	%D%/common/wgmma_cuda.h \
	%D%/common/wgmma_layout.h \
	%D%/kv_buffer_lds/args.h \
	%D%/kv_buffer_lds/kv_buffer_lds.h \
	%D%/kv_buffer_lds/params.def \
	%D%/kv_buffer_lds/params.h \
	%D%/kv_buffer_pipelined/args.h \
	%D%/kv_buffer_pipelined/kv_buffer_pipelined.h \
	%D%/kv_buffer_pipelined/params.def \
	%D%/kv_buffer_pipelined/params.h \
	%D%/kv_buffer_reg/args.h \
	%D%/kv_buffer_reg/kv_buffer_reg.h \
	%D%/kv_buffer_reg/params.def \
	%D%/kv_buffer_reg/params.h \
	%D%/kv_cache_append/args.h \
	%D%/kv_cache_append/kv_cache_append.h \
	%D%/kv_cache_append/params.def \
	%D%/kv_cache_append/params.h \
	%D%/kv_producer_pipeline/args.h \
	%D%/kv_producer_pipeline/kv_producer_pipeline.h \
	%D%/kv_producer_pipeline/loaders.h \
	%D%/kv_producer_pipeline/params.def \
	%D%/kv_producer_pipeline/params.h \
	%D%/kv_producer_pipeline/products.h \
	%D%/kv_producer_pipeline/readers.h \
	%D%/kv_producer_pipeline/shapes.h \
	%D%/paged_attention_decode/args.h \
	%D%/paged_attention_decode/paged_attention_decode.h \
	%D%/paged_attention_decode/params.def \
	%D%/paged_attention_decode/params.h \
	%D%/paged_attention_decode/ring.h \
	%D%/paged_attention_decode/score.h \
	%D%/paged_attention_decode/work.h \
	%D%/paged_row_indices/args.h \
	%D%/paged_row_indices/paged_row_indices.h \
	%D%/paged_row_indices/params.def \
	%D%/paged_row_indices/params.h \
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

template_files = \
	%D%/new/gemv/FAMILY.h.in \
	%D%/new/gemv/args.h.in \
	%D%/new/gemv/params.def.in \
	%D%/new/gemv/reference.c.in \
	%D%/new/gemv/run.def.in \
	%D%/new/reduce/FAMILY.h.in \
	%D%/new/reduce/args.h.in \
	%D%/new/reduce/params.def.in \
	%D%/new/reduce/reference.c.in \
	%D%/new/reduce/run.def.in \
	%D%/new/ring/FAMILY.h.in \
	%D%/new/ring/args.h.in \
	%D%/new/ring/params.def.in \
	%D%/new/ring/reference.c.in \
	%D%/new/ring/run.def.in \
	%D%/new/tile/FAMILY.h.in \
	%D%/new/tile/args.h.in \
	%D%/new/tile/params.def.in \
	%D%/new/tile/reference.c.in \
	%D%/new/tile/run.def.in

nobase_dist_pkgdata_DATA += $(embedded_files) %D%/defaults.sh
EXTRA_DIST += \
	$(template_files) \
	%D%/new/README.md \
	%D%/embed.sh \
	%D%/driver/list.sh \
	%D%/README.md \
	%D%/kv_buffer_lds/README.md \
	%D%/kv_buffer_pipelined/README.md \
	%D%/kv_buffer_reg/README.md \
	%D%/kv_cache_append/README.md \
	%D%/kv_producer_pipeline/README.md \
	%D%/paged_attention_decode/README.md \
	%D%/paged_row_indices/README.md \
	%D%/plain_read/README.md \
	%D%/subtile_loader/README.md \
	%D%/subtile_loader_st_8x32/README.md \
	%D%/tile_loader_lds/README.md

# How the CLI and the tests feed and check each family.
noinst_LTLIBRARIES += libgroat_drivers.la
libgroat_drivers_la_SOURCES = \
	%D%/driver/cache_host.c \
	%D%/driver/cache_host.h \
	%D%/driver/driver.c \
	%D%/driver/driver.h \
	%D%/driver/kv_driver.c \
	%D%/driver/kv_host.c \
	%D%/driver/kv_host.h \
	%D%/driver/element.c \
	%D%/driver/element.h \
	%D%/driver/measured.c \
	%D%/driver/measured.h \
	%D%/driver/shared.c \
	%D%/driver/shared.h \
	%D%/kv_buffer_lds/host.c \
	%D%/kv_buffer_pipelined/host.c \
	%D%/kv_buffer_reg/host.c \
	%D%/kv_cache_append/host.c \
	%D%/kv_producer_pipeline/host.c \
	%D%/kv_producer_pipeline/walk.c \
	%D%/kv_producer_pipeline/walk.h \
	%D%/paged_attention_decode/host.c \
	%D%/paged_row_indices/host.c \
	%D%/plain_read/host.c \
	%D%/subtile_loader/host.c \
	%D%/subtile_loader_st_8x32/host.c \
	%D%/tile_loader_lds/host.c
nodist_libgroat_drivers_la_SOURCES = %D%/driver/drivers.c
CLEANFILES += %D%/driver/drivers.c
%D%/driver/drivers.c: $(libgroat_drivers_la_SOURCES) %D%/driver/list.sh
	$(AM_V_at)$(MKDIR_P) %D%/driver
	$(AM_V_GEN)$(SHELL) $(top_srcdir)/%D%/driver/list.sh \
		$(top_srcdir)/%D% > $@.tmp && mv -f $@.tmp $@
