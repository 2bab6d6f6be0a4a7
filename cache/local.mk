# SPDX-License-Identifier: Apache-2.0
EXTRA_DIST += \
	%D%/bundle.sql \
	%D%/embed_schema.sh \
	%D%/schema.sql

# Kernels for the KV caches of known models, for groat prewarm.
manifestsdir = $(pkgdatadir)/manifests
dist_manifests_DATA = \
	%D%/manifests/deepseek-v3-mla.jsonl \
	%D%/manifests/gemma-3-27b.jsonl \
	%D%/manifests/gemma-3-4b.jsonl \
	%D%/manifests/llama-3-70b.jsonl \
	%D%/manifests/llama-3-8b.jsonl \
	%D%/manifests/mistral-7b.jsonl \
	%D%/manifests/qwen3-30b-a3b.jsonl \
	%D%/manifests/qwen3-8b.jsonl

libgroat_internal_la_SOURCES += \
	%D%/backup.c \
	%D%/bundle.c \
	%D%/bundle.h \
	%D%/bundle_store.c \
	%D%/bundle_write.c \
	%D%/cache.h \
	%D%/claim.c \
	%D%/connection.c \
	%D%/counters.c \
	%D%/entry.c \
	%D%/fork.c \
	%D%/gc.c \
	%D%/get.c \
	%D%/glance.c \
	%D%/guard.c \
	%D%/handle.c \
	%D%/internal.h \
	%D%/place.c \
	%D%/place_path.c \
	%D%/row.c \
	%D%/sign.c \
	%D%/stamps.c \
	%D%/store.c \
	%D%/verify.c

BUILT_SOURCES += %D%/bundle.inc %D%/schema.inc
CLEANFILES += %D%/bundle.inc %D%/schema.inc
%D%/bundle.lo: %D%/bundle.inc
%D%/handle.lo: %D%/schema.inc
cache_embed = $(MKDIR_P) %D% && \
	$(SHELL) $(top_srcdir)/%D%/embed_schema.sh
%D%/bundle.inc: $(top_srcdir)/%D%/bundle.sql $(top_srcdir)/%D%/embed_schema.sh
	$(AM_V_GEN)$(cache_embed) $(top_srcdir)/%D%/bundle.sql > $@.tmp && \
		mv -f $@.tmp $@
%D%/schema.inc: $(top_srcdir)/%D%/schema.sql $(top_srcdir)/%D%/embed_schema.sh
	$(AM_V_GEN)$(cache_embed) $(top_srcdir)/%D%/schema.sql > $@.tmp && \
		mv -f $@.tmp $@
