/* SPDX-License-Identifier: Apache-2.0
 *
 * probes.h - user-level statically defined probes of the provider "groat", for
 * bpftrace, SystemTap and perf.  A probe that nobody traces is a nop
 * instruction; a build without sys/sdt.h (or with --disable-usdt) has none.
 * Strings are valid during the probe; doc/serving.md lists the probes.
 */
#ifndef GROAT_BASE_PROBES_H
#define GROAT_BASE_PROBES_H

#ifdef GROAT_USDT

/* Macros of sys/sdt.h omit variable arguments, and clang warns of that where
 * they are used. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments"
#endif
#include <sys/sdt.h>

#define GROAT__PROBE2(name, a, b)       DTRACE_PROBE2(groat, name, a, b)
#define GROAT__PROBE3(name, a, b, c)    DTRACE_PROBE3(groat, name, a, b, c)
#define GROAT__PROBE4(name, a, b, c, d) DTRACE_PROBE4(groat, name, a, b, c, d)
#define GROAT__PROBE5(name, a, b, c, d, e)                                     \
    DTRACE_PROBE5(groat, name, a, b, c, d, e)

#else

#define GROAT__PROBE2(name, a, b)    ((void)(a), (void)(b))
#define GROAT__PROBE3(name, a, b, c) (GROAT__PROBE2(name, a, b), (void)(c))
#define GROAT__PROBE4(name, a, b, c, d)                                        \
    (GROAT__PROBE3(name, a, b, c), (void)(d))
#define GROAT__PROBE5(name, a, b, c, d, e)                                     \
    (GROAT__PROBE4(name, a, b, c, d), (void)(e))

#endif

#endif
