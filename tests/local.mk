# SPDX-License-Identifier: Apache-2.0
#
# make check: Check programs over the internal library, shell tests over the
# CLI and the tree.  Exit 77 is a skip, and a line "SKIP: reason" its reason.
TEST_EXTENSIONS = .sh .fuzz
SH_LOG_COMPILER = $(SHELL)
FUZZ_LOG_COMPILER = $(SHELL) $(top_srcdir)/%D%/fuzz/replay.sh
LDADD = libgroat_drivers.la libgroat_internal.la $(CHECK_LIBS)
AM_CPPFLAGS += $(CHECK_CFLAGS)

# Absolute places, no home folder to write into, and time for a busy machine.
AM_TESTS_ENVIRONMENT = \
	CK_DEFAULT_TIMEOUT=$${CK_DEFAULT_TIMEOUT-120}; \
	export CK_DEFAULT_TIMEOUT; \
	top_srcdir='$(abs_top_srcdir)'; \
	top_builddir='$(abs_top_builddir)'; \
	export top_srcdir top_builddir; \
	CC='$(CC)'; CXX='$(CXX)'; NM='$(NM)'; OBJDUMP='$(OBJDUMP)'; \
	CLANG_FORMAT='$(CLANG_FORMAT)'; PKG_CONFIG='$(PKG_CONFIG)'; \
	READELF='$(READELF)'; GROAT_USDT='$(groat_usdt)'; \
	export CC CXX NM OBJDUMP CLANG_FORMAT PKG_CONFIG READELF; \
	export GROAT_USDT; \
	GROAT='$(abs_top_builddir)/groat$(EXEEXT)'; \
	GROAT_SANITIZE='$(groat_sanitize)'; \
	GROAT_SANITIZE_FLAGS='$(GROAT_SANITIZE_FLAGS)'; \
	export GROAT GROAT_SANITIZE GROAT_SANITIZE_FLAGS; \
	XDG_CACHE_HOME='$(abs_top_builddir)/tests/cache-home'; \
	export XDG_CACHE_HOME; \
	$(GROAT_SHIM_ENVIRONMENT)

# ---- unit, pipe and kernel tests

groat_unit_tests = \
	%D%/unit/backend/test_amdgpu_elf \
	%D%/unit/backend/test_elf \
	%D%/unit/backend/test_cuda_abi \
	%D%/unit/backend/test_hip_abi \
	%D%/unit/backend/test_hiprtc \
	%D%/unit/judge/test_judge \
	%D%/unit/judge/test_judge_jobs \
	%D%/unit/judge/test_judge_loader \
	%D%/unit/judge/test_judge_cluster \
	%D%/unit/judge/test_judge_mbarrier \
	%D%/unit/judge/test_judge_mutants \
	%D%/unit/judge/test_judge_tma \
	%D%/unit/judge/test_judge_unwritten \
	%D%/unit/judge/test_judge_wave \
	%D%/unit/judge/test_judge_wgmma \
	%D%/unit/backend/test_nvrtc \
	%D%/unit/backend/test_rocm \
	%D%/unit/backend/test_shared \
	%D%/unit/base/test_dl \
	%D%/unit/base/test_error \
	%D%/unit/base/test_fs \
	%D%/unit/base/test_hold \
	%D%/unit/base/test_loader \
	%D%/unit/base/test_log \
	%D%/unit/base/test_near \
	%D%/unit/base/test_slice \
	%D%/unit/base/test_str \
	%D%/unit/cache/test_bundle \
	%D%/unit/cache/test_damage \
	%D%/unit/cache/test_glance \
	%D%/unit/cache/test_disk \
	%D%/unit/cache/test_entry \
	%D%/unit/cache/test_fork \
	%D%/unit/cache/test_claim \
	%D%/unit/cache/test_removed \
	%D%/unit/cache/test_schema \
	%D%/unit/cache/test_share \
	%D%/unit/cache/test_sign \
	%D%/unit/cache/test_place \
	%D%/unit/cache/test_stamps \
	%D%/unit/cache/test_starved \
	%D%/unit/cache/test_store \
	%D%/unit/attention/test_choose \
	%D%/unit/cli/test_banks \
	%D%/unit/cli/test_draw \
	%D%/unit/cli/test_element \
	%D%/unit/cli/test_json \
	%D%/unit/cli/test_npy \
	%D%/unit/core/test_driver_maps \
	%D%/unit/fleet/test_breaker \
	%D%/unit/fleet/test_folder \
	%D%/unit/fleet/test_place \
	%D%/unit/fleet/test_resolve \
	%D%/unit/fleet/test_token \
	%D%/unit/tensor/test_kv \
	%D%/unit/core/test_kv_spec \
	%D%/unit/core/test_table \
	%D%/unit/tensor/test_tensor \
	%D%/unit/spec/test_arch \
	%D%/unit/spec/test_code \
	%D%/unit/spec/test_expr \
	%D%/unit/spec/test_family \
	%D%/unit/spec/test_made \
	%D%/unit/spec/test_key \
	%D%/unit/spec/test_manifest \
	%D%/unit/spec/test_param \
	%D%/unit/spec/test_reads \
	%D%/unit/spec/test_render \
	%D%/unit/spec/test_rules

# The whole path on cpu targets, and on a CUDA device where there is one.
groat_pipe_tests = \
	%D%/pipe/test_append \
	%D%/pipe/test_attention \
	%D%/pipe/test_decode_shapes \
	%D%/pipe/test_callbacks \
	%D%/pipe/test_compilerless \
	%D%/pipe/test_compilers \
	%D%/pipe/test_exit \
	%D%/pipe/test_families \
	%D%/pipe/test_fork \
	%D%/pipe/test_faults \
	%D%/pipe/test_hits \
	%D%/pipe/test_layers \
	%D%/pipe/test_loaded_device \
	%D%/pipe/test_loaded_race \
	%D%/pipe/test_memory \
	%D%/pipe/test_metrics \
	%D%/pipe/test_path \
	%D%/pipe/test_processes \
	%D%/pipe/test_race \
	%D%/pipe/test_remote \
	%D%/pipe/test_remote_servers \
	%D%/pipe/test_requests \
	%D%/pipe/test_serving \
	%D%/pipe/test_sizes \
	%D%/pipe/test_tensor_maps \
	%D%/pipe/test_tuned \
	%D%/pipe/test_unload

# What groat does with the vendors' libraries, on stand-ins.
groat_shim_tests = \
	%D%/shim/test_cuda \
	%D%/shim/test_cuda_calls \
	%D%/shim/test_cuda_maps \
	%D%/shim/test_hip \
	%D%/shim/test_hip_calls \
	%D%/shim/test_loaded \
	%D%/shim/test_predicted \
	%D%/shim/test_growth \
	%D%/shim/test_nvrtc \
	%D%/shim/test_ranges

# Those that a detector of races has something to find in.
groat_race_tests = $(groat_pipe_tests) $(groat_shim_tests) \
	%D%/unit/backend/test_hiprtc \
	%D%/unit/base/test_error \
	%D%/unit/base/test_log \
	%D%/unit/cache/test_claim \
	%D%/unit/cache/test_stamps \
	%D%/unit/cache/test_store \
	%D%/unit/judge/test_judge_jobs \
	%D%/unit/tensor/test_kv \
	%D%/unit/core/test_table

groat_check_programs = \
	$(groat_unit_tests) $(groat_pipe_tests) $(groat_shim_tests)

# All families over their params.def, and the oldest against its oracle, on the
# judge's fibers: one thread.
groat_kernel_tests = \
	%D%/kernels/test_code \
	%D%/kernels/test_convert \
	%D%/kernels/test_families \
	%D%/kernels/test_tile_loader_lds

# Each of the others against its oracle, and with waits, barriers and addresses
# taken out.  Another compiler of groat itself changes nothing of them.
groat_family_tests = \
	%D%/kernels/test_append_mutants \
	%D%/kernels/test_attention_mutants \
	%D%/kernels/test_kv_buffer_lds \
	%D%/kernels/test_kv_buffer_pipelined \
	%D%/kernels/test_kv_buffer_reg \
	%D%/kernels/test_kv_layout \
	%D%/kernels/test_kv_mutants \
	%D%/kernels/test_kv_presets \
	%D%/kernels/test_kv_producer_pipeline \
	%D%/kernels/test_kv_ring \
	%D%/kernels/test_kv_ring_mutants \
	%D%/kernels/test_paged_row_cases \
	%D%/kernels/test_paged_row_indices \
	%D%/kernels/test_paged_row_mutants \
	%D%/kernels/test_st_8x32_mutants \
	%D%/kernels/test_subtile_loader \
	%D%/kernels/test_subtile_loader_st_8x32 \
	%D%/kernels/test_subtile_mutants \
	%D%/kernels/test_tma \
	%D%/kernels/test_tma_mutants

# What runs families by their drivers, and what runs mutants of them.
drive_sources = %D%/kernels/drive.c src/cli/run/compare.c
mutants_sources = %D%/kernels/mutants.c $(drive_sources)
%C%_kernels_test_families_SOURCES = \
	%D%/kernels/test_families.c $(drive_sources)
%C%_pipe_test_memory_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc \
	-Wl,--wrap=calloc -Wl,--wrap=realloc -Wl,--wrap=strdup -Wl,--wrap=strndup
%C%_kernels_test_append_mutants_SOURCES = \
	%D%/kernels/test_append_mutants.c $(mutants_sources)
%C%_kernels_test_attention_mutants_SOURCES = \
	%D%/kernels/test_attention_mutants.c $(mutants_sources)
%C%_kernels_test_kv_mutants_SOURCES = \
	%D%/kernels/test_kv_mutants.c $(mutants_sources)
%C%_kernels_test_st_8x32_mutants_SOURCES = \
	%D%/kernels/test_st_8x32_mutants.c $(mutants_sources)
%C%_kernels_test_subtile_mutants_SOURCES = \
	%D%/kernels/test_subtile_mutants.c $(mutants_sources)
%C%_unit_judge_test_judge_loader_SOURCES = \
	%D%/unit/judge/test_judge_loader.c $(mutants_sources)
%C%_unit_backend_test_cuda_abi_CPPFLAGS = $(AM_CPPFLAGS) $(GROAT_CUDA_CPPFLAGS)
%C%_unit_backend_test_hip_abi_CPPFLAGS = $(AM_CPPFLAGS) $(GROAT_HIP_CPPFLAGS)
kv_sources = %D%/kernels/kv_rig.c $(drive_sources)
%C%_kernels_test_kv_buffer_lds_SOURCES = \
	%D%/kernels/test_kv_buffer_lds.c %D%/kernels/kv_suite.c $(kv_sources)
%C%_kernels_test_kv_buffer_pipelined_SOURCES = \
	%D%/kernels/test_kv_buffer_pipelined.c $(kv_sources)
%C%_kernels_test_kv_buffer_reg_SOURCES = \
	%D%/kernels/test_kv_buffer_reg.c %D%/kernels/kv_suite.c $(kv_sources)
%C%_kernels_test_paged_row_indices_SOURCES = \
	%D%/kernels/test_paged_row_indices.c %D%/kernels/rows_rig.c \
	$(drive_sources)
%C%_kernels_test_paged_row_cases_SOURCES = \
	%D%/kernels/test_paged_row_cases.c %D%/kernels/rows_rig.c \
	$(drive_sources)
%C%_kernels_test_paged_row_mutants_SOURCES = \
	%D%/kernels/test_paged_row_mutants.c $(mutants_sources)
ring_sources = \
	%D%/kernels/ring_oracle.c \
	%D%/kernels/ring_rig.c
%C%_kernels_test_kv_producer_pipeline_SOURCES = \
	%D%/kernels/test_kv_producer_pipeline.c $(ring_sources)
%C%_kernels_test_kv_ring_mutants_SOURCES = \
	%D%/kernels/test_kv_ring_mutants.c $(mutants_sources)
%C%_kernels_test_kv_presets_SOURCES = \
	%D%/kernels/test_kv_presets.c $(drive_sources)
%C%_kernels_test_kv_ring_SOURCES = \
	%D%/kernels/test_kv_ring.c $(ring_sources) $(drive_sources)
%C%_kernels_test_subtile_loader_st_8x32_SOURCES = \
	%D%/kernels/test_subtile_loader_st_8x32.c $(drive_sources)
%C%_kernels_test_subtile_loader_SOURCES = \
	%D%/kernels/test_subtile_loader.c $(drive_sources)
%C%_kernels_test_tile_loader_lds_SOURCES = \
	%D%/kernels/test_tile_loader_lds.c $(drive_sources)
%C%_unit_cli_test_banks_SOURCES = \
	%D%/unit/cli/test_banks.c \
	src/cli/run/banks.c \
	src/cli/tool/json.c \
	src/cli/tool/out.c
%C%_unit_cli_test_draw_SOURCES = \
	%D%/unit/cli/test_draw.c \
	src/cli/run/banks.c \
	src/cli/draw/draw.c \
	src/cli/draw/figures.c \
	src/cli/draw/map.c \
	src/cli/draw/page.c \
	src/cli/draw/panels.c \
	src/cli/draw/reads.c \
	src/cli/draw/record.c \
	src/cli/draw/slots.c \
	src/cli/draw/timeline.c \
	src/cli/tool/json.c \
	src/cli/tool/out.c
%C%_unit_cli_test_json_SOURCES = \
	%D%/unit/cli/test_json.c src/cli/tool/json.c
%C%_unit_cli_test_npy_SOURCES = \
	%D%/unit/cli/test_npy.c \
	src/cli/family/npy.c
%C%_shim_test_cuda_SOURCES = \
	%D%/shim/test_cuda.c \
	%D%/shim/copy.c
%C%_shim_test_cuda_calls_SOURCES = \
	%D%/shim/test_cuda_calls.c \
	%D%/shim/copy.c
%C%_shim_test_cuda_maps_SOURCES = \
	%D%/shim/test_cuda_maps.c \
	%D%/shim/copy.c
%C%_pipe_test_exit_SOURCES = \
	%D%/pipe/test_exit.c \
	%D%/shim/copy.c
# Loads libgroat.so itself.
%C%_pipe_test_unload_LDADD =
%C%_shim_test_predicted_SOURCES = \
	%D%/shim/test_predicted.c \
	%D%/shim/copy.c
%C%_shim_test_growth_SOURCES = \
	%D%/shim/test_growth.c \
	%D%/shim/copy.c
%C%_shim_test_loaded_SOURCES = \
	%D%/shim/test_loaded.c \
	%D%/shim/copy.c
%C%_shim_test_nvrtc_SOURCES = \
	%D%/shim/test_nvrtc.c \
	%D%/shim/copy.c

# ---- stand-ins for the vendor libraries

groat_shims = \
	%D%/shim/libLLVM_shim.la \
	%D%/shim/libamd_comgr_shim.la \
	%D%/shim/libamd_comgr_llvm_shim.la \
	%D%/shim/libamdhip64_shim.la \
	%D%/shim/libcuda_shim.la \
	%D%/shim/libhiprtc_shim.la \
	%D%/shim/libnvrtc_shim.la \
	%D%/shim/libranges_shim.la \
	%D%/shim/libamdhip64_rocm5_shim.la \
	%D%/shim/libamdhip64_rocm6_shim.la \
	%D%/shim/libamdhip64_lacks_shim.la \
	%D%/shim/libhiprtc_lacks_shim.la
shim_dir = $(abs_top_builddir)/%D%/shim/.libs
GROAT_SHIM_ENVIRONMENT = \
	export GROAT_TEST_TINY='$(abs_top_builddir)/%D%/unit/base/.libs'; \
	export GROAT_TEST_COMGR_SHIM='$(shim_dir)/libamd_comgr_shim.so'; \
	export GROAT_TEST_COMGR_LLVM_SHIM='$(shim_dir)/libamd_comgr_llvm_shim.so'; \
	export GROAT_TEST_HIP_SHIM='$(shim_dir)/libamdhip64_shim.so'; \
	export GROAT_TEST_CUDA_SHIM='$(shim_dir)/libcuda_shim.so'; \
	export GROAT_TEST_HIPRTC_SHIM='$(shim_dir)/libhiprtc_shim.so'; \
	export GROAT_TEST_NVRTC_SHIM='$(shim_dir)/libnvrtc_shim.so'; \
	export GROAT_TEST_RANGES_SHIM='$(shim_dir)/libranges_shim.so'; \
	export GROAT_TEST_HIP5_SHIM='$(shim_dir)/libamdhip64_rocm5_shim.so'; \
	export GROAT_TEST_HIP6_SHIM='$(shim_dir)/libamdhip64_rocm6_shim.so'; \
	export GROAT_TEST_HIP_LACKS_SHIM='$(shim_dir)/libamdhip64_lacks_shim.so'; \
	export GROAT_TEST_HIPRTC_LACKS_SHIM='$(shim_dir)/libhiprtc_lacks_shim.so';

# Nowhere is where they are installed: libtool makes a shared object of them.
shim_flags = -module -avoid-version -shared -rpath /nowhere
%C%_shim_libamd_comgr_shim_la_SOURCES = %D%/shim/libamd_comgr_shim.c
%C%_shim_libamd_comgr_shim_la_LDFLAGS = $(AM_LDFLAGS) $(shim_flags)
# A comgr that is linked to an LLVM of its own, as Debian's is.
%C%_shim_libLLVM_shim_la_SOURCES = %D%/shim/libLLVM_shim.c
%C%_shim_libLLVM_shim_la_LDFLAGS = \
	$(AM_LDFLAGS) -avoid-version -shared -rpath /nowhere
%C%_shim_libamd_comgr_llvm_shim_la_SOURCES = %D%/shim/libamd_comgr_shim.c
%C%_shim_libamd_comgr_llvm_shim_la_CPPFLAGS = $(AM_CPPFLAGS) -DSHIM_LLVM
%C%_shim_libamd_comgr_llvm_shim_la_LDFLAGS = \
	$(AM_LDFLAGS) $(shim_flags) -Wl,-rpath,'$$ORIGIN'
%C%_shim_libamd_comgr_llvm_shim_la_LIBADD = %D%/shim/libLLVM_shim.la
%C%_shim_libamdhip64_shim_la_SOURCES = %D%/shim/libamdhip64_shim.c
%C%_shim_libamdhip64_shim_la_LDFLAGS = $(AM_LDFLAGS) $(shim_flags)
%C%_shim_libcuda_shim_la_SOURCES = %D%/shim/libcuda_shim.c
%C%_shim_libcuda_shim_la_LDFLAGS = $(AM_LDFLAGS) $(shim_flags)
%C%_shim_libhiprtc_shim_la_SOURCES = %D%/shim/libhiprtc_shim.c
%C%_shim_libhiprtc_shim_la_LDFLAGS = $(AM_LDFLAGS) $(shim_flags)
%C%_shim_libnvrtc_shim_la_SOURCES = %D%/shim/libnvrtc_shim.c
%C%_shim_libnvrtc_shim_la_LDFLAGS = $(AM_LDFLAGS) $(shim_flags)
%C%_shim_libranges_shim_la_SOURCES = %D%/shim/libranges_shim.c
%C%_shim_libranges_shim_la_LDFLAGS = $(AM_LDFLAGS) $(shim_flags)
%C%_shim_libamdhip64_rocm5_shim_la_SOURCES = %D%/shim/libamdhip64_shim.c
%C%_shim_libamdhip64_rocm5_shim_la_CPPFLAGS = $(AM_CPPFLAGS) -DSHIM_ROCM=5
%C%_shim_libamdhip64_rocm5_shim_la_LDFLAGS = $(AM_LDFLAGS) $(shim_flags)
%C%_shim_libamdhip64_rocm6_shim_la_SOURCES = %D%/shim/libamdhip64_shim.c
%C%_shim_libamdhip64_rocm6_shim_la_CPPFLAGS = $(AM_CPPFLAGS) -DSHIM_ROCM=6
%C%_shim_libamdhip64_rocm6_shim_la_LDFLAGS = $(AM_LDFLAGS) $(shim_flags)
%C%_shim_libamdhip64_lacks_shim_la_SOURCES = %D%/shim/libamdhip64_shim.c
%C%_shim_libamdhip64_lacks_shim_la_CPPFLAGS = $(AM_CPPFLAGS) -DSHIM_LACKS_SYMBOL
%C%_shim_libamdhip64_lacks_shim_la_LDFLAGS = $(AM_LDFLAGS) $(shim_flags)
%C%_shim_libhiprtc_lacks_shim_la_SOURCES = %D%/shim/libhiprtc_shim.c
%C%_shim_libhiprtc_lacks_shim_la_CPPFLAGS = $(AM_CPPFLAGS) -DSHIM_LACKS_SYMBOL
%C%_shim_libhiprtc_lacks_shim_la_LDFLAGS = $(AM_LDFLAGS) $(shim_flags)

# ---- what goes wrong with files, in a program that a library is put in front of

fault_libraries = %D%/faults/libfaulty.la
fault_programs = \
	%D%/faults/compiler \
	%D%/faults/test_sweeps \
	%D%/faults/worker
%C%_faults_libfaulty_la_SOURCES = %D%/faults/faulty.c
%C%_faults_libfaulty_la_CFLAGS = $(AM_CFLAGS) -fvisibility=default
%C%_faults_libfaulty_la_LDFLAGS = $(AM_LDFLAGS) $(shim_flags)
%C%_faults_test_sweeps_SOURCES = \
	%D%/faults/test_sweeps.c \
	%D%/faults/strike.c \
	%D%/faults/matrix.c

# ---- what test_dl opens: libraries that differ by their build id

tiny_libraries = \
	%D%/unit/base/libtiny_long.la \
	%D%/unit/base/libtiny_none.la \
	%D%/unit/base/libtiny_short.la
# Of 34 bytes: more than are kept, and no whole number of words.
tiny_id = 0123456789abcdeffedcba9876543210aabb
%C%_unit_base_libtiny_long_la_SOURCES = %D%/unit/base/tiny.c
%C%_unit_base_libtiny_long_la_LDFLAGS = $(AM_LDFLAGS) $(shim_flags) \
	-Wl,--build-id=0x00112233445566778899aabbccddeeff$(tiny_id)
%C%_unit_base_libtiny_none_la_SOURCES = %D%/unit/base/tiny.c
%C%_unit_base_libtiny_none_la_LDFLAGS = $(AM_LDFLAGS) $(shim_flags) \
	-Wl,--build-id=none
%C%_unit_base_libtiny_short_la_SOURCES = %D%/unit/base/tiny.c
%C%_unit_base_libtiny_short_la_LDFLAGS = $(AM_LDFLAGS) $(shim_flags) \
	-Wl,--build-id=0xc0ffee00112233445566778899aabbccddeeff42

# ---- fuzz targets, over their corpora

groat_fuzz_programs = \
	%D%/fuzz/fuzz_bundle.fuzz \
	%D%/fuzz/fuzz_cuda.fuzz \
	%D%/fuzz/fuzz_entry.fuzz \
	%D%/fuzz/fuzz_manifest.fuzz \
	%D%/fuzz/fuzz_params.fuzz \
	%D%/fuzz/fuzz_spec.fuzz \
	%D%/fuzz/fuzz_store.fuzz
%C%_fuzz_fuzz_bundle_fuzz_SOURCES = \
	%D%/fuzz/fuzz_bundle.c \
	%D%/fuzz/replay_main.c
%C%_fuzz_fuzz_cuda_fuzz_SOURCES = \
	%D%/fuzz/fuzz_cuda.c \
	%D%/fuzz/replay_main.c \
	src/cli/judge/cuda_decls.c \
	src/cli/judge/cuda_files.c \
	src/cli/judge/cuda_needed.c \
	src/cli/judge/cuda_params.c \
	src/cli/judge/cuda_ptx.c \
	src/cli/judge/cuda_source.c \
	src/cli/judge/cuda_tokens.c
%C%_fuzz_fuzz_entry_fuzz_SOURCES = \
	%D%/fuzz/fuzz_entry.c \
	%D%/fuzz/replay_main.c
%C%_fuzz_fuzz_manifest_fuzz_SOURCES = \
	%D%/fuzz/fuzz_manifest.c \
	%D%/fuzz/replay_main.c
%C%_fuzz_fuzz_params_fuzz_SOURCES = \
	%D%/fuzz/fuzz_params.c \
	%D%/fuzz/replay_main.c
%C%_fuzz_fuzz_spec_fuzz_SOURCES = \
	%D%/fuzz/fuzz_spec.c \
	%D%/fuzz/replay_main.c
%C%_fuzz_fuzz_store_fuzz_SOURCES = \
	%D%/fuzz/fuzz_store.c \
	%D%/fuzz/replay_main.c

# ---- shell tests

groat_cli_tests = \
	%D%/cli/answers.sh \
	%D%/cli/author.sh \
	%D%/kernels/accuracy.sh \
	%D%/kernels/cost.sh \
	%D%/kernels/faults.sh \
	%D%/kernels/subset.sh \
	%D%/cli/attention.sh \
	%D%/cli/banks.sh \
	%D%/cli/bench.sh \
	%D%/cli/bundles.sh \
	%D%/cli/completion.sh \
	%D%/cli/dashboard.sh \
	%D%/cli/demo.sh \
	%D%/cli/draw.sh \
	%D%/cli/example.sh \
	%D%/cli/failures.sh \
	%D%/cli/fleet.sh \
	%D%/cli/fleet_objects.sh \
	%D%/cli/fleet_page.sh \
	%D%/cli/judge.sh \
	%D%/cli/judge_cxx.sh \
	%D%/cli/judge_files.sh \
	%D%/cli/judge_async.sh \
	%D%/cli/judge_product.sh \
	%D%/cli/judge_ptx.sh \
	%D%/cli/judge_forms.sh \
	%D%/cli/judge_half.sh \
	%D%/cli/judge_names.sh \
	%D%/cli/judge_races.sh \
	%D%/cli/json.sh \
	%D%/cli/losses.sh \
	%D%/cli/manual.sh \
	%D%/cli/nulls.sh \
	%D%/cli/prewarm.sh \
	%D%/cli/record.sh \
	%D%/cli/run.sh \
	%D%/cli/server.sh \
	%D%/cli/store.sh \
	%D%/cli/streams.sh \
	%D%/cli/tune.sh \
	%D%/cli/usage.sh \
	%D%/cli/variants.sh
groat_style_tests = \
	%D%/style/banned.sh \
	%D%/style/circles.sh \
	%D%/style/embed.sh \
	%D%/style/format.sh \
	%D%/style/header.sh \
	%D%/style/install.sh \
	%D%/style/kernels.sh \
	%D%/style/layers.sh \
	%D%/style/man.sh \
	%D%/style/probes.sh \
	%D%/style/readme.sh \
	%D%/style/sizes.sh \
	%D%/style/symbols.sh \
	%D%/style/wired.sh \
	%D%/style/words.sh

# Faults of files, clocks and processes.  A library that is put in front of
# another cannot be put in front of a sanitizer's; another compiler of groat
# itself changes nothing of them.
groat_fault_tests = %D%/faults/matrix.sh

# Code objects of AMD's compiler, read and executed: another compiler of groat
# itself changes nothing of them.
groat_isa_tests = \
	%D%/isa/checks.sh \
	%D%/isa/execute.sh \
	%D%/isa/mutants.sh \
	%D%/isa/self_test.sh \
	%D%/isa/table_current.sh

# Memory orders of the lock-free paths, by a model checker.
groat_litmus_tests = %D%/litmus/orders.sh

# All but what looks at the tree: what another compiler or a sanitizer may
# change.
groat_program_tests = $(groat_thread_tests) $(groat_kernel_tests)
groat_thread_tests = \
	$(groat_check_programs) $(groat_fuzz_programs) $(groat_cli_tests)

EXTRA_DIST += \
	%D%/fuzz/corpus \
	%D%/fuzz/replay.sh \
	$(groat_cli_tests) $(groat_style_tests) $(groat_isa_tests) \
	$(groat_fault_tests) $(groat_litmus_tests) \
	%D%/litmus/counts.c \
	%D%/litmus/lookup.c \
	%D%/litmus/seal.c \
	%D%/litmus/small.h \
	%D%/litmus/target.c \
	%D%/isa/README.md \
	%D%/isa/common.sh \
	%D%/isa/table.sh \
	%D%/isa/attention.py \
	%D%/isa/codeobject.py \
	%D%/isa/drive.py \
	%D%/isa/families/__init__.py \
	%D%/isa/families/kv_buffer_lds.py \
	%D%/isa/families/kv_buffer_pipelined.py \
	%D%/isa/families/kv_buffer_reg.py \
	%D%/isa/families/kv_cache_append.py \
	%D%/isa/families/plain_read.py \
	%D%/isa/families/subtile_loader.py \
	%D%/isa/families/subtile_loader_st_8x32.py \
	%D%/isa/families/tile_loader_lds.py \
	%D%/isa/inputs.py \
	%D%/isa/kv.py \
	%D%/isa/lint.py \
	%D%/isa/machine/__init__.py \
	%D%/isa/machine/access.py \
	%D%/isa/machine/core.py \
	%D%/isa/machine/decode.py \
	%D%/isa/machine/faults.py \
	%D%/isa/machine/formats.py \
	%D%/isa/machine/lds.py \
	%D%/isa/machine/matrix.py \
	%D%/isa/machine/memory.py \
	%D%/isa/machine/operands.py \
	%D%/isa/machine/operation.py \
	%D%/isa/machine/packed.py \
	%D%/isa/machine/scalar.py \
	%D%/isa/machine/shared.py \
	%D%/isa/machine/sub_dword.py \
	%D%/isa/machine/vector.py \
	%D%/isa/mutants.py \
	%D%/isa/objects.py \
	%D%/isa/run.py \
	%D%/isa/samples/__init__.py \
	%D%/isa/samples/functions.h \
	%D%/isa/samples/functions.hip \
	%D%/isa/samples/lanes.hip \
	%D%/isa/samples/matrix.hip \
	%D%/isa/samples/wrong.hip \
	%D%/isa/self_test.py \
	%D%/cli/answers.txt \
	%D%/cli/common.sh \
	%D%/cli/judge_common.sh \
	%D%/cli/inject.c \
	%D%/bench/NOTES.md \
	%D%/bench/attention.jsonl \
	%D%/bench/attention_plot.py \
	%D%/bench/fleet.py \
	%D%/bench/fleet_simulation.py \
	%D%/bench/bench.h \
	%D%/folder.h \
	%D%/report.sh \
	%D%/scratch.sh \
	%D%/table.sh \
	%D%/soak/README.md \
	%D%/soak/ab.py \
	%D%/soak/fleet.sh \
	%D%/soak/actors.py \
	%D%/soak/parts.sh \
	%D%/soak/procs.py \
	%D%/fleet/engines.sh \
	%D%/fleet/hostile.py \
	%D%/fleet/lying_redis.py \
	%D%/fleet/proxy.py \
	%D%/fleet/thief.py \
	%D%/fleet/token.py \
	%D%/soak/soak.py \
	%D%/soak/soak.sh \
	%D%/style/lib.sh \
	%D%/style/state.allow \
	%D%/kernels/tma_probe/params.def \
	%D%/unit/judge/judge_probe/params.def \
	%D%/kernels/atomics/params.def \
	%D%/kernels/atomics/run.def \
	%D%/kernels/integers/params.def \
	%D%/kernels/integers/run.def \
	%D%/kernels/lanes/params.def \
	%D%/kernels/lanes/run.def \
	%D%/kernels/numbers/params.def \
	%D%/kernels/numbers/run.def \
	%D%/kernels/matrices/params.def \
	%D%/kernels/matrices/run.def \
	%D%/kernels/products/params.def \
	%D%/kernels/products/run.def \
	%D%/kernels/cuda/floats.cu \
	%D%/kernels/cuda/floats.txt \
	%D%/kernels/cuda/half.cu \
	%D%/kernels/cuda/kernels.cu \
	%D%/kernels/cuda/names.cu \
	%D%/kernels/cuda/names.txt \
	%D%/kernels/cuda/product.cu \
	%D%/kernels/cuda/program.cu \
	%D%/kernels/cuda/ptx.cu \
	%D%/kernels/cuda/ptx.txt \
	%D%/kernels/cuda/rounded.cu \
	%D%/kernels/cuda/rounded.txt \
	%D%/kernels/cuda/rows.cu \
	%D%/kernels/boxes/params.def \
	%D%/kernels/boxes/run.def \
	%D%/kernels/faults/params.def \
	%D%/kernels/faults/run.def \
	%D%/kernels/functions/params.def \
	%D%/kernels/functions/run.def \
	%D%/unit/cli/bank_probe/params.def \
	%D%/tools/circles.py \
	%D%/tools/browser.py \
	%D%/tools/colours.py \
	%D%/tools/compile_commands.py \
	%D%/tools/hiprtc7.sh \
	%D%/kernels/sanitizer.sh \
	%D%/tools/memcheck.sh \
	%D%/tools/memcheck.supp \
	%D%/tools/mutate.py \
	%D%/tools/nulls.py

noinst_HEADERS += \
	%D%/faults/faulty.h \
	%D%/faults/matrix.h \
	%D%/faults/strike.h \
	%D%/fuzz/fuzz_file.h \
	%D%/fuzz/spec_checks.h \
	%D%/kernels/drive.h \
	%D%/kernels/known.h \
	%D%/kernels/kv_rig.h \
	%D%/kernels/ptx.h \
	%D%/kernels/ring_rig.h \
	%D%/kernels/kv_suite.h \
	%D%/kernels/rows_rig.h \
	%D%/kernels/sass.h \
	%D%/kernels/st_8x32_oracle.h \
	%D%/kernels/st_8x32_rig.h \
	%D%/kernels/subtile.h \
	%D%/kernels/grid.h \
	%D%/kernels/mutants.h \
	%D%/kernels/mutation.h \
	%D%/pipe/held.h \
	%D%/pipe/opened.h \
	%D%/pipe/rig.h \
	%D%/unit/backend/exact.h \
	%D%/unit/judge/judge_rig.h \
	%D%/kernels/tma_forms.h \
	%D%/kernels/tma_rig.h \
	%D%/kernels/tma_probe/args.h \
	%D%/kernels/tma_probe/tma_probe.h \
	%D%/unit/judge/judge_probe/args.h \
	%D%/unit/judge/judge_probe/judge_probe.h \
	%D%/kernels/atomics/args.h \
	%D%/kernels/atomics/atomics.h \
	%D%/kernels/atomics/reference.c \
	%D%/kernels/integers/args.h \
	%D%/kernels/integers/integers.h \
	%D%/kernels/integers/reference.c \
	%D%/kernels/lanes/args.h \
	%D%/kernels/lanes/lanes.h \
	%D%/kernels/lanes/reference.c \
	%D%/kernels/numbers/args.h \
	%D%/kernels/numbers/numbers.h \
	%D%/kernels/numbers/reference.c \
	%D%/kernels/matrices/args.h \
	%D%/kernels/matrices/matrices.h \
	%D%/kernels/matrices/reference.c \
	%D%/kernels/products/args.h \
	%D%/kernels/products/products.h \
	%D%/kernels/products/reference.c \
	%D%/kernels/boxes/args.h \
	%D%/kernels/boxes/boxes.h \
	%D%/kernels/boxes/reference.c \
	%D%/kernels/faults/args.h \
	%D%/kernels/faults/faults.h \
	%D%/kernels/functions/args.h \
	%D%/kernels/functions/functions.h \
	%D%/kernels/functions/reference.c \
	%D%/unit/cli/bank_probe/args.h \
	%D%/unit/cli/bank_probe/bank_probe.h \
	%D%/unit/cli/bank_rig.h \
	%D%/shim/amdgpu_object.h \
	%D%/shim/copy.h \
	%D%/shim/cuda_rig.h \
	%D%/shim/hip_bench.h \
	%D%/shim/plain_rig.h \
	%D%/shim/shim.h \
	%D%/shim/shim_hip.h \
	%D%/shim/shim_ranges.h \
	%D%/unit/cache/fixture.h \
	%D%/unit/spec/fixture.h \
	%D%/unit/suite.h \
	%D%/unit/threads.h

if HAVE_CHECK
# Each is built for its own log: make check TESTS=one builds one.
own_programs = $(groat_check_programs) $(groat_fuzz_programs) \
	$(groat_kernel_tests) $(groat_family_tests) $(fault_programs)
EXTRA_PROGRAMS += $(own_programs)
CLEANFILES += $(own_programs)
%D%/faults/matrix.log: $(fault_programs)
%D%/cli/server.log: $(groat_soak_program)
check_LTLIBRARIES += $(groat_shims) $(tiny_libraries) $(fault_libraries)
TESTS += $(groat_program_tests) $(groat_style_tests) $(groat_family_tests) \
	$(groat_isa_tests) $(groat_fault_tests) $(groat_litmus_tests)

# One summary of the skips and their reasons, after the last test.
check-local: check-TESTS
	@$(SHELL) $(top_srcdir)/%D%/report.sh . $(TEST_LOGS)
else
check-local:
	@echo 'make check needs Check (pkg-config check); see ./bootstrap' >&2
	@exit 1
endif

# The tests that need no program of their own: make style.
style: all
	$(MAKE) $(AM_MAKEFLAGS) check-TESTS TESTS='$(groat_style_tests)'

# What groat itself costs, by its own command and by programs over its parts.
# Never in make check: figures are no tests.
groat_bench_programs = \
	%D%/bench/bench_attention \
	%D%/bench/bench_cold \
	%D%/bench/bench_first \
	%D%/bench/bench_key \
	%D%/bench/bench_prewarm \
	%D%/bench/bench_serving \
	%D%/bench/bench_store \
	%D%/bench/bench_warm
%C%_bench_bench_warm_SOURCES = %D%/bench/bench_warm.c src/cli/bench/raw.c
EXTRA_PROGRAMS += $(groat_bench_programs)
CLEANFILES += $(groat_bench_programs)
bench: all $(groat_bench_programs) $(groat_soak_program)
	./groat$(EXEEXT) bench --json
	@for program in $(groat_bench_programs) $(groat_soak_program); do \
		./$$program || exit 1; \
	done

# The example server under load for GROAT_SOAK_SECONDS (1800), see soak/README;
# tests/cli/server.sh does the same for some seconds.
groat_soak_program = %D%/soak/cycles
EXTRA_PROGRAMS += $(groat_soak_program)
CLEANFILES += $(groat_soak_program)
check-soak: all $(groat_soak_program)
	@$(AM_TESTS_ENVIRONMENT) $(SHELL) $(top_srcdir)/%D%/soak/soak.sh
	@$(AM_TESTS_ENVIRONMENT) $(SHELL) $(top_srcdir)/%D%/soak/fleet.sh

clean-local:
	rm -rf %D%/cache-home %D%/isa/objects
