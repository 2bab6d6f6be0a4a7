# SPDX-License-Identifier: Apache-2.0
EXTRA_DIST += \
	%D%/embed_schema.sh \
	%D%/schema.sql

libgroat_internal_la_SOURCES += \
	%D%/cache.h \
	%D%/connection.c \
	%D%/fork.c \
	%D%/gc.c \
	%D%/holder.c \
	%D%/internal.h \
	%D%/lease.c \
	%D%/place.c \
	%D%/renew.c \
	%D%/stamps.c \
	%D%/store.c \
	%D%/verify.c

BUILT_SOURCES += %D%/schema.inc
CLEANFILES += %D%/schema.inc
%D%/connection.lo: %D%/schema.inc
%D%/schema.inc: $(top_srcdir)/%D%/schema.sql $(top_srcdir)/%D%/embed_schema.sh
	$(AM_V_at)$(MKDIR_P) %D%
	$(AM_V_GEN)$(SHELL) $(top_srcdir)/%D%/embed_schema.sh \
		$(top_srcdir)/%D%/schema.sql > $@.tmp && mv -f $@.tmp $@
