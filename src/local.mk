# SPDX-License-Identifier: Apache-2.0
EXTRA_DIST += %D%/groat.map %D%/README.md

# What the tool builds, too: texts, time, files, expressions.
libgroat_text_la_SOURCES += \
	%D%/base/clock.c \
	%D%/base/clock.h \
	%D%/base/cores.c \
	%D%/base/cores.h \
	%D%/base/error.c \
	%D%/base/error.h \
	%D%/base/fs.c \
	%D%/base/fs.h \
	%D%/base/grow.c \
	%D%/base/grow.h \
	%D%/base/hash.c \
	%D%/base/hash.h \
	%D%/base/hold.c \
	%D%/base/hold.h \
	%D%/base/near.c \
	%D%/base/near.h \
	%D%/base/slice.c \
	%D%/base/slice.h \
	%D%/base/str.c \
	%D%/base/str.h \
	%D%/base/thread.c \
	%D%/base/thread.h \
	%D%/spec/code.c \
	%D%/spec/code.h \
	%D%/spec/code_eval.c \
	%D%/spec/expr.c \
	%D%/spec/expr.h \
	%D%/spec/scan.c \
	%D%/spec/scan.h

# Specs, and what they stand on: what make_families needs.
libgroat_spec_la_SOURCES += \
	%D%/base/dl.c \
	%D%/base/dl.h \
	%D%/base/loader.c \
	%D%/base/loader.h \
	%D%/base/log.c \
	%D%/base/log.h \
	%D%/base/process.c \
	%D%/base/process.h \
	%D%/base/probes.h \
	%D%/base/ranges.c \
	%D%/base/ranges.h \
	%D%/spec/arch.c \
	%D%/spec/arch.h \
	%D%/spec/code_write.c \
	%D%/spec/family.c \
	%D%/spec/family.h \
	%D%/spec/flatten.c \
	%D%/spec/flatten.h \
	%D%/spec/key.c \
	%D%/spec/key.h \
	%D%/spec/load.c \
	%D%/spec/load.h \
	%D%/spec/manifest.c \
	%D%/spec/manifest.h \
	%D%/spec/param.c \
	%D%/spec/param.h \
	%D%/spec/params_def.c \
	%D%/spec/params_def.h \
	%D%/spec/proofs.c \
	%D%/spec/proofs.h \
	%D%/spec/reads.c \
	%D%/spec/reads.h \
	%D%/spec/render.c \
	%D%/spec/render.h

libgroat_internal_la_SOURCES += \
	%D%/attention/append.c \
	%D%/attention/append.h \
	%D%/attention/append_check.c \
	%D%/attention/append_reference.c \
	%D%/attention/check.c \
	%D%/attention/check.h \
	%D%/attention/choose.c \
	%D%/attention/choose.h \
	%D%/attention/decode.c \
	%D%/attention/number.c \
	%D%/attention/number.h \
	%D%/attention/reference.c \
	%D%/attention/score.c \
	%D%/attention/score.h \
	%D%/attention/shape.c \
	%D%/attention/shape.h \
	%D%/attention/spec.c \
	%D%/attention/spec.h \
	%D%/attention/tuned.c \
	%D%/attention/tuned.h \
	%D%/backend/amdgpu_elf.c \
	%D%/backend/amdgpu_elf.h \
	%D%/backend/backend.c \
	%D%/backend/backend.h \
	%D%/backend/cpu.c \
	%D%/backend/child.c \
	%D%/backend/child.h \
	%D%/backend/cuda.c \
	%D%/backend/cuda.def \
	%D%/backend/cuda_abi.h \
	%D%/backend/cuda_driver.c \
	%D%/backend/cuda_driver.h \
	%D%/backend/cuda_tensor.c \
	%D%/backend/cxx.c \
	%D%/backend/elf.c \
	%D%/backend/elf.h \
	%D%/backend/gpu.c \
	%D%/backend/gpu.h \
	%D%/backend/guarded.c \
	%D%/backend/guarded.h \
	%D%/backend/hip.c \
	%D%/backend/hip.def \
	%D%/backend/hip_abi.h \
	%D%/backend/hip_driver.c \
	%D%/backend/hip_driver.h \
	%D%/backend/hiprtc.c \
	%D%/backend/hiprtc.def \
	%D%/backend/lines.c \
	%D%/backend/lines.h \
	%D%/backend/marks.c \
	%D%/backend/marks.h \
	%D%/backend/nvrtc.c \
	%D%/backend/nvrtc.def \
	%D%/backend/rocm.c \
	%D%/backend/rocm.h \
	%D%/backend/shared.c \
	%D%/backend/shared.h \
	%D%/core/build.c \
	%D%/core/bundle.c \
	%D%/core/callbacks.c \
	%D%/core/callbacks.h \
	%D%/core/context.c \
	%D%/core/core.h \
	%D%/core/device.c \
	%D%/core/doctor.c \
	%D%/core/job_remote.c \
	%D%/core/explain.c \
	%D%/core/failures.c \
	%D%/core/failures.h \
	%D%/core/families.c \
	%D%/core/families.h \
	%D%/core/inflight.c \
	%D%/core/handle.c \
	%D%/core/job.c \
	%D%/core/job.h \
	%D%/core/json.c \
	%D%/core/json.h \
	%D%/core/kernel.c \
	%D%/core/launch.c \
	%D%/core/layers.c \
	%D%/core/load.c \
	%D%/core/load.h \
	%D%/core/lookup.c \
	%D%/core/lookup.h \
	%D%/core/machine.c \
	%D%/core/manifest.c \
	%D%/core/manifest.h \
	%D%/core/metrics.c \
	%D%/core/metrics.h \
	%D%/core/miss.c \
	%D%/core/miss.h \
	%D%/core/nearest.c \
	%D%/core/nearest.h \
	%D%/core/remote_objects.c \
	%D%/core/pool.c \
	%D%/core/pool.h \
	%D%/core/used.c \
	%D%/core/used.h \
	%D%/core/reload.c \
	%D%/core/remote.c \
	%D%/core/resident.c \
	%D%/core/resident.h \
	%D%/core/tally.h \
	%D%/core/seal.c \
	%D%/core/seal.h \
	%D%/core/sealed.c \
	%D%/core/sealed.h \
	%D%/core/sealed_log.c \
	%D%/core/spec.c \
	%D%/core/stored.c \
	%D%/core/table.c \
	%D%/core/table.h \
	%D%/core/target.c \
	%D%/core/tensor_maps.c \
	%D%/core/warm.c \
	%D%/fleet/absent.c \
	%D%/fleet/absent.h \
	%D%/fleet/apart.c \
	%D%/fleet/background.c \
	%D%/fleet/breaker.c \
	%D%/fleet/breaker.h \
	%D%/fleet/curl.def \
	%D%/fleet/folder.c \
	%D%/fleet/folder.h \
	%D%/fleet/hiredis.def \
	%D%/fleet/http.c \
	%D%/fleet/http.h \
	%D%/fleet/lease.c \
	%D%/fleet/lease.h \
	%D%/fleet/link.c \
	%D%/fleet/tools.c \
	%D%/fleet/object.h \
	%D%/fleet/oci.c \
	%D%/fleet/oci.h \
	%D%/fleet/place.c \
	%D%/fleet/place.h \
	%D%/fleet/remote.c \
	%D%/fleet/remote.h \
	%D%/fleet/resolve.c \
	%D%/fleet/resolve.h \
	%D%/fleet/token.c \
	%D%/fleet/token.h \
	%D%/fleet/waits.c \
	%D%/judge/atomic.c \
	%D%/judge/attempts.c \
	%D%/judge/atomic.h \
	%D%/judge/attempts.h \
	%D%/judge/copies.c \
	%D%/judge/copies.h \
	%D%/judge/deadlock.c \
	%D%/judge/deadlock.h \
	%D%/judge/device.c \
	%D%/judge/device.h \
	%D%/judge/fiber.c \
	%D%/judge/fiber.h \
	%D%/judge/grid.c \
	%D%/judge/grid.h \
	%D%/judge/held.c \
	%D%/judge/held.h \
	%D%/judge/index.c \
	%D%/judge/index.h \
	%D%/judge/judge.c \
	%D%/judge/judge.h \
	%D%/judge/time_limit.c \
	%D%/judge/mbarrier.c \
	%D%/judge/mbarrier.h \
	%D%/judge/named.c \
	%D%/judge/named.h \
	%D%/judge/meet.c \
	%D%/judge/meet.h \
	%D%/judge/memory.c \
	%D%/judge/memory.h \
	%D%/judge/model.h \
	%D%/judge/number.c \
	%D%/judge/number.h \
	%D%/judge/order.c \
	%D%/judge/order.h \
	%D%/judge/partners.c \
	%D%/judge/partners.h \
	%D%/judge/pointers.c \
	%D%/judge/pointers.h \
	%D%/judge/races.c \
	%D%/judge/races.h \
	%D%/judge/schedule.c \
	%D%/judge/schedule.h \
	%D%/judge/snapshot.c \
	%D%/judge/snapshot.h \
	%D%/judge/spans.c \
	%D%/judge/spans.h \
	%D%/judge/threads.c \
	%D%/judge/threads.h \
	%D%/judge/stores.c \
	%D%/judge/stores.h \
	%D%/judge/tma.c \
	%D%/judge/tma.h \
	%D%/judge/trace.c \
	%D%/judge/trace.h \
	%D%/judge/uniform.c \
	%D%/judge/uniform.h \
	%D%/judge/unwritten.c \
	%D%/judge/unwritten.h \
	%D%/judge/warp_mma.c \
	%D%/judge/warp_mma.h \
	%D%/judge/wave.c \
	%D%/judge/wave.h \
	%D%/judge/wgmma.c \
	%D%/judge/wgmma.h \
	%D%/tensor/kv.c \
	%D%/tensor/maps.c \
	%D%/tensor/maps.h \
	%D%/tensor/tensor.c \
	%D%/tensor/tensor.h

groat_SOURCES += \
	%D%/cli/attention/attention.h \
	%D%/cli/attention/cmd_attention.c \
	%D%/cli/attention/input.c \
	%D%/cli/attention/named.c \
	%D%/cli/attention/cmd_tune.c \
	%D%/cli/attention/trial.c \
	%D%/cli/attention/tune.c \
	%D%/cli/attention/tune.h \
	%D%/cli/attention/tune_worker.c \
	%D%/cli/attention/word.c \
	%D%/cli/bench/bench.c \
	%D%/cli/bench/bench.h \
	%D%/cli/bench/build.c \
	%D%/cli/bench/cmd_bench.c \
	%D%/cli/bench/raw.c \
	%D%/cli/bench/raw.h \
	%D%/cli/bench/stream.c \
	%D%/cli/cmd_build.c \
	%D%/cli/cmd_demo.c \
	%D%/cli/cmd_devices.c \
	%D%/cli/cmd_doctor.c \
	%D%/cli/cmd_explain.c \
	%D%/cli/cmd_families.c \
	%D%/cli/cmd_help.c \
	%D%/cli/cmd_key.c \
	%D%/cli/cmd_record.c \
	%D%/cli/cmd_source.c \
	%D%/cli/commands.c \
	%D%/cli/commands.h \
	%D%/cli/draw/cmd_draw.c \
	%D%/cli/draw/draw.c \
	%D%/cli/draw/draw.h \
	%D%/cli/draw/figures.c \
	%D%/cli/draw/map.c \
	%D%/cli/draw/page.c \
	%D%/cli/draw/panels.c \
	%D%/cli/draw/png.c \
	%D%/cli/draw/reads.c \
	%D%/cli/draw/record.c \
	%D%/cli/draw/slots.c \
	%D%/cli/draw/steps.c \
	%D%/cli/draw/timeline.c \
	%D%/cli/fleet/cmd_fleet.c \
	%D%/cli/fleet/fleet.h \
	%D%/cli/fleet/names.c \
	%D%/cli/family/args_struct.c \
	%D%/cli/family/args_struct.h \
	%D%/cli/family/folder.c \
	%D%/cli/family/folder.h \
	%D%/cli/family/like.c \
	%D%/cli/family/like.h \
	%D%/cli/family/new.c \
	%D%/cli/family/new.h \
	%D%/cli/family/npy.c \
	%D%/cli/family/npy.h \
	%D%/cli/family/open.c \
	%D%/cli/family/reference.c \
	%D%/cli/family/reference.h \
	%D%/cli/family/run_def.c \
	%D%/cli/family/run_def.h \
	%D%/cli/judge/cmd_judge.c \
	%D%/cli/judge/cuda_decls.c \
	%D%/cli/judge/cuda_decls.h \
	%D%/cli/judge/cuda_family.c \
	%D%/cli/judge/cuda_family.h \
	%D%/cli/judge/cuda_files.c \
	%D%/cli/judge/cuda_files.h \
	%D%/cli/judge/cuda_needed.c \
	%D%/cli/judge/cuda_needed.h \
	%D%/cli/judge/cuda_params.c \
	%D%/cli/judge/cuda_params.h \
	%D%/cli/judge/cuda_ptx.c \
	%D%/cli/judge/cuda_ptx.h \
	%D%/cli/judge/cuda_source.c \
	%D%/cli/judge/cuda_source.h \
	%D%/cli/judge/cuda_tokens.c \
	%D%/cli/judge/cuda_tokens.h \
	%D%/cli/judge/judge.h \
	%D%/cli/main.c \
	%D%/cli/prewarm/cmd_prewarm.c \
	%D%/cli/prewarm/manifest.c \
	%D%/cli/prewarm/pool.c \
	%D%/cli/prewarm/prewarm.h \
	%D%/cli/prewarm/worker.c \
	%D%/cli/run/banks.c \
	%D%/cli/run/banks.h \
	%D%/cli/run/cmd_run.c \
	%D%/cli/run/compare.c \
	%D%/cli/run/compare.h \
	%D%/cli/run/files.c \
	%D%/cli/run/files.h \
	%D%/cli/run/locals.c \
	%D%/cli/run/locals.h \
	%D%/cli/run/places.c \
	%D%/cli/run/places.h \
	%D%/cli/run/report.c \
	%D%/cli/run/sanitize.c \
	%D%/cli/run/trial.c \
	%D%/cli/run/trial.h \
	%D%/cli/run/watch.c \
	%D%/cli/run/watch.h \
	%D%/cli/store/cmd_bundle.c \
	%D%/cli/store/cmd_cache.c \
	%D%/cli/store/store.c \
	%D%/cli/store/store.h \
	%D%/cli/tool/action.c \
	%D%/cli/tool/cli.c \
	%D%/cli/tool/cmd.h \
	%D%/cli/tool/json.c \
	%D%/cli/tool/opt.c \
	%D%/cli/tool/out.c \
	%D%/cli/tool/out.h \
	%D%/cli/tool/output.c \
	%D%/cli/tool/progress.c \
	%D%/cli/tool/progress.h \
	%D%/cli/tool/scratch.c \
	%D%/cli/tool/targets.c \
	%D%/cli/tool/spawn.c

# The families, in the library: embed.sh writes their files as one C file, and
# make_families what becomes of them.  Who builds for another machine names a
# make_families of this one: make MAKE_FAMILIES=.../make_families.
nodist_libgroat_spec_la_SOURCES += %D%/spec/embedded.c
CLEANFILES += %D%/spec/embedded.c
%D%/spec/embedded.c: $(embedded_files) $(top_srcdir)/kernels-src/embed.sh
	$(AM_V_at)$(MKDIR_P) %D%/spec
	$(AM_V_GEN)$(SHELL) $(top_srcdir)/kernels-src/embed.sh \
		$(top_srcdir)/kernels-src > $@.tmp && mv -f $@.tmp $@

nodist_groat_SOURCES = %D%/cli/family/templates.c
CLEANFILES += %D%/cli/family/templates.c
%D%/cli/family/templates.c: $(template_files) $(top_srcdir)/kernels-src/embed.sh
	$(AM_V_at)$(MKDIR_P) %D%/cli/family
	$(AM_V_GEN)$(SHELL) $(top_srcdir)/kernels-src/embed.sh --templates \
		$(top_srcdir)/kernels-src/new > $@.tmp && mv -f $@.tmp $@

# The page in which groat draw steps, as a text of the tool.
EXTRA_DIST += %D%/cli/draw/steps.html
nodist_groat_SOURCES += %D%/cli/draw/steps_html.c
CLEANFILES += %D%/cli/draw/steps_html.c
%D%/cli/draw/steps_html.c: $(srcdir)/src/cli/draw/steps.html
	$(AM_V_at)$(MKDIR_P) %D%/cli/draw
	$(AM_V_GEN){ echo '#include "cli/draw/draw.h"'; \
		echo 'const unsigned char groat__steps_html[] = {'; \
		od -An -v -tu1 $(srcdir)/src/cli/draw/steps.html | \
			sed -e 's/  */,/g' -e 's/^,//' -e 's/$$/,/'; \
		echo '0};'; } > $@.tmp && mv -f $@.tmp $@

noinst_PROGRAMS += make_families
make_families_SOURCES = %D%/spec/make_families.c
make_families_LDADD = libgroat_spec.la
MAKE_FAMILIES = make_families$(EXEEXT)
nodist_libgroat_internal_la_SOURCES += %D%/spec/made_families.c
CLEANFILES += %D%/spec/made_families.c
%D%/spec/made_families.c: $(MAKE_FAMILIES)
	$(AM_V_at)$(MKDIR_P) %D%/spec
	$(AM_V_GEN)case $(MAKE_FAMILIES) in */*) d= ;; *) d=./ ;; esac; \
		$${d}$(MAKE_FAMILIES) > $@.tmp && mv -f $@.tmp $@
