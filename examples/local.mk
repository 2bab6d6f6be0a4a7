# SPDX-License-Identifier: Apache-2.0
#
# What a user of the library writes: nothing here is built with it.
nobase_dist_pkgdata_DATA += \
	%D%/decode.c \
	%D%/paged_cache.h \
	%D%/paged_scores.c \
	%D%/paged_sum/README.md \
	%D%/paged_sum/args.h \
	%D%/paged_sum/main.c \
	%D%/paged_sum/paged_sum.h \
	%D%/paged_sum/params.def \
	%D%/paged_sum/sum.c \
	%D%/paged_sum/sum.h \
	%D%/server/README.md \
	%D%/server/server.c
