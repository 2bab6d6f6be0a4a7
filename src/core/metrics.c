/* SPDX-License-Identifier: Apache-2.0
 *
 * metrics.c measures how long each stage of a get or launch takes, and writes
 * all of a context's figures as text: for Prometheus, or as JSON.
 *
 * Invariant: a counter never decreases.  The figures of one text are read one
 * after the other, so a sum may be a moment ahead of its count.
 * Locking: none; each figure is an atomic of its own.
 */
#include "core/metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "core/core.h"
#include "core/json.h"

static const char *const stage_names[] = {"lookup", "read",  "verify",
                                          "remote", "lease", "compile",
                                          "put",    "load",  "first_launch"};

/* Rows of the context, and of its remote, at most. */
enum { COUNTERS_OWN = 40, COUNTERS_REMOTE = 24 };

enum { SUM_DIGITS = 15 }; /* of sums of seconds in JSON */

_Static_assert(sizeof(stage_names) / sizeof(stage_names[0]) == GROAT__STAGES,
               "each stage has a name");

/* The upper bound of bucket i. */
static uint64_t bound_ns(unsigned i)
{
    return (uint64_t)100 << 2 * i;
}

void groat__metrics_add(groat__metrics *metrics, groat__stage stage,
                        uint64_t start_ns)
{
    groat__metrics_spent(metrics, stage, groat__now_ns() - start_ns);
}

void groat__metrics_spent(groat__metrics *metrics, groat__stage stage,
                          uint64_t spent)
{
    groat__histogram *h = &metrics->stage[stage];
    unsigned i = 0;

    while (i < GROAT__BUCKETS && spent > bound_ns(i))
        i++;
    (void)atomic_fetch_add_explicit(&h->sum_ns, spent, memory_order_relaxed);
    (void)atomic_fetch_add_explicit(&h->bucket[i], 1, memory_order_relaxed);
}

/* ---- the text ------------------------------------------------------------ */

typedef struct counter {
    const char *name; /* of Prometheus, without "groat_"; counters: _total */
    const char *help;
    uint64_t value;
} counter;

static groat_status read_counters(groat_context *context, counter *out,
                                  size_t *count, groat_error *error)
{
    const groat__metrics *m = &context->metrics;
    groat_cache_stat s = {.size = sizeof(s)};
    groat_status status = groat_cache_stat_get(context, &s, error);
    const counter all[] = {
        {"memory_hits_total", "gets that memory answered", s.memory_hits},
        {"store_hits_total", "kernels read from the store", s.hits},
        {"store_misses_total", "look-ups that found no kernel in the store",
         s.misses},
        {"bundle_hits_total", "kernels read from bundles", s.bundle_hits},
        {"bundle_misses_total", "kernels that no bundle had", s.bundle_misses},
        {"bundle_faults_total", "damaged or foreign entries of bundles",
         s.bundle_faults},
        {"compiles_total", "kernels compiled here", s.compiles},
        {"compilerless_total",
         "kernels taken as another host made them: no compiler is here",
         atomic_load(&m->compilerless)},
        {"compile_failures_total", "compiles that failed",
         atomic_load(&m->compile_failures)},
        {"compile_refusals_total", "gets answered with a known failure",
         s.refusals},
        {"loads_total", "kernels loaded into the driver", s.loads},
        {"unloads_total", "kernels unloaded for the bound", s.unloads},
        {"deferred_unloads_total",
         "unloads postponed as the kernel was still running",
         s.deferred_unloads},
        {"sealed_misses_total", "misses of the sealed context", s.sealed},
        {"fallbacks_total", "sealed misses of families with a fallback",
         s.fallbacks},
        {"claim_waits_total", "kernels that another process compiled", s.waits},
        {"claim_takeovers_total",
         "kernels whose compile another process died in", s.takeovers},
        {"claim_timeouts_total", "waits for another process that were too long",
         s.timeouts},
        {"evictions_total", "entries dropped from the store", s.evictions},
        {"store_faults_total", "operations of the store that failed", s.faults},
        {"store_entries", "kernels in the store", s.entries},
        {"store_payload_bytes", "sum of their binaries", s.payload_bytes},
        {"store_file_bytes", "the store on disk", s.file_bytes},
        {"store_max_bytes", "its bound", s.max_bytes},
        {"loaded_bytes", "sum of the loaded binaries", s.loaded_bytes},
        {"loaded_max_bytes", "its bound; 0: none", s.loaded_max_bytes},
    };

    _Static_assert(sizeof(all) / sizeof(all[0]) <= COUNTERS_OWN, "room");
    memcpy(out, all, sizeof(all));
    *count = sizeof(all) / sizeof(all[0]);
    return status;
}

static groat_status add_remote_counters(groat_context *context, counter *out,
                                        size_t *count, groat_error *error)
{
    groat_remote_info r = {.size = sizeof(r)};
    groat_status status = groat_remote_stat(context, &r, error);
    const counter all[] = {
        {"remote_hits_total", "entries taken from the remote", r.hits},
        {"remote_misses_total", "look-ups that found no entry at the remote",
         r.misses},
        {"remote_known_misses_total",
         "requests not sent: the remote lacked the kernel a minute ago or less",
         r.known_misses},
        {"remote_skipped_total",
         "kernels not asked for, since it gave no answer", r.skipped},
        {"remote_errors_total", "exchanges with the remote that failed",
         r.errors},
        {"remote_timeouts_total", "exchanges that were too slow", r.timeouts},
        {"remote_refused_total", "objects without a trusted signature",
         r.refused},
        {"remote_malformed_total",
         "objects that are no entries, or are cut short", r.malformed},
        {"remote_mistaken_total", "signed objects of another kernel",
         r.mistaken},
        {"remote_puts_total", "objects sent to the remote", r.puts},
        {"remote_put_failures_total", "objects that could not be sent",
         r.put_failures},
        {"remote_put_drops_total",
         "kernels not sent: the queue was full, or the remote not answering",
         r.put_drops},
        {"remote_received_bytes_total", "bytes of objects received",
         r.bytes_in},
        {"remote_sent_bytes_total", "bytes of objects sent", r.bytes_out},
        {"remote_breaker_open", "1 while the remote is not asked",
         (uint64_t)r.breaker_open},
        {"remote_breaker_opens_total", "times that it stopped being asked",
         r.breaker_opens},
        {"lease_held_total", "kernels compiled under a lease", r.leases_held},
        {"lease_waits_total", "kernels that another host compiled",
         r.lease_waits},
        {"lease_timeouts_total", "waits for another host that were too long",
         r.lease_timeouts},
        {"lease_errors_total", "commands that the lease server did not answer",
         r.lease_errors},
        {"lease_breaker_open", "1 while the lease server is not asked",
         (uint64_t)r.lease_breaker_open},
    };

    _Static_assert(sizeof(all) / sizeof(all[0]) <= COUNTERS_REMOTE, "room");
    memcpy(out + *count, all, sizeof(all));
    *count += sizeof(all) / sizeof(all[0]);
    return status;
}

/* With a decimal point, whatever the locale is. */
static void add_seconds(groat__str *out, uint64_t ns)
{
    char digits[32];
    int len = snprintf(digits, sizeof(digits), "%" PRIu64 ".%09" PRIu64,
                       ns / 1000000000, ns % 1000000000);

    while (digits[len - 1] == '0')
        len--;
    len -= digits[len - 1] == '.';
    groat__str_addn(out, digits, (size_t)len);
}

static void add_bound(groat__str *out, unsigned i)
{
    if (i == GROAT__BUCKETS)
        groat__str_add(out, "+Inf");
    else
        add_seconds(out, bound_ns(i));
}

/* Returns the count of buckets 0 to i; *sum accumulates over the calls. */
static uint64_t up_to(const groat__histogram *h, unsigned i, uint64_t *sum)
{
    *sum += atomic_load_explicit(&h->bucket[i], memory_order_relaxed);
    return *sum;
}

static uint64_t sum_of(const groat__histogram *h)
{
    return atomic_load_explicit(&h->sum_ns, memory_order_relaxed);
}

static const char *kind_of(const counter *c)
{
    const char *end = strstr(c->name, "_total");

    return end != NULL && end[strlen("_total")] == '\0' ? "counter" : "gauge";
}

static void write_prometheus(const groat_context *context,
                             const counter *counters, size_t count,
                             groat__str *out)
{
    for (size_t i = 0; i < count; i++)
        groat__str_addf(out,
                        "# HELP groat_%s %s\n# TYPE groat_%s %s\n"
                        "groat_%s %" PRIu64 "\n",
                        counters[i].name, counters[i].help, counters[i].name,
                        kind_of(&counters[i]), counters[i].name,
                        counters[i].value);
    groat__str_add(out, "# HELP groat_stage_seconds time of each stage on the "
                        "way to a kernel; of lookups one in 256\n"
                        "# TYPE groat_stage_seconds histogram\n");
    for (unsigned s = 0; s < GROAT__STAGES; s++) {
        const groat__histogram *h = &context->metrics.stage[s];
        uint64_t sum = 0;

        for (unsigned i = 0; i <= GROAT__BUCKETS; i++) {
            groat__str_addf(out,
                            "groat_stage_seconds_bucket{stage=\"%s\",le=\"",
                            stage_names[s]);
            add_bound(out, i);
            groat__str_addf(out, "\"} %" PRIu64 "\n", up_to(h, i, &sum));
        }
        groat__str_addf(out, "groat_stage_seconds_sum{stage=\"%s\"} ",
                        stage_names[s]);
        add_seconds(out, sum_of(h));
        groat__str_addf(
            out, "\ngroat_stage_seconds_count{stage=\"%s\"} %" PRIu64 "\n",
            stage_names[s], sum);
    }
}

/* NULL if memory runs out, as every json_t below. */
static json_t *bucket_json(const groat__histogram *h, unsigned i, uint64_t *sum)
{
    groat__str bound = {0};
    json_t *bucket;

    add_bound(&bound, i);
    bucket = json_pack("{s:s, s:I}", "le_s", bound.failed ? NULL : bound.data,
                       "count", (json_int_t)up_to(h, i, sum));
    groat__str_free(&bound);
    return bucket;
}

static json_t *stage_json(const groat__histogram *h)
{
    json_t *buckets = json_array();
    uint64_t sum = 0;
    int failed = 0;

    for (unsigned i = 0; i <= GROAT__BUCKETS; i++)
        failed |= json_array_append_new(buckets, bucket_json(h, i, &sum));
    if (failed != 0) {
        json_decref(buckets);
        return NULL;
    }
    return json_pack("{s:o, s:f, s:I}", "buckets", buckets, "sum_s",
                     (double)sum_of(h) * 1e-9, "count", (json_int_t)sum);
}

static void write_json(const groat_context *context, const counter *counters,
                       size_t count, groat__str *out)
{
    json_t *figures = json_object();
    json_t *stages = json_object();
    json_t *root;
    int failed = 0;

    for (size_t i = 0; i < count; i++)
        failed |=
            json_object_set_new(figures, counters[i].name,
                                json_integer((json_int_t)counters[i].value));
    for (unsigned s = 0; s < GROAT__STAGES; s++)
        failed |= json_object_set_new(stages, stage_names[s],
                                      stage_json(&context->metrics.stage[s]));
    root = json_pack("{s:i, s:o, s:o}", "format", 1, "counters", figures,
                     "stages", stages);
    groat__json_write(out, failed == 0 ? root : NULL,
                      JSON_REAL_PRECISION(SUM_DIGITS));
    groat__str_add(out, "\n");
    json_decref(root);
}

groat_status groat_metrics(groat_context *context, groat_metrics_format format,
                           char **out, groat_error *error)
{
    counter counters[COUNTERS_OWN + COUNTERS_REMOTE];
    groat__str text = {0};
    size_t count = 0;
    groat_status status;
    char *whole;

    if (!groat__is_usable(context))
        return groat__fail_unusable("context", context, error);
    if (format != GROAT_METRICS_PROMETHEUS && format != GROAT_METRICS_JSON)
        return groat__fail(error, GROAT_INVALID,
                           "format is %d; allowed: 0 (Prometheus), 1 (JSON)",
                           (int)format);
    status = read_counters(context, counters, &count, error);
    if (status == GROAT_OK)
        status = add_remote_counters(context, counters, &count, error);
    if (status != GROAT_OK)
        return status;
    if (format == GROAT_METRICS_PROMETHEUS)
        write_prometheus(context, counters, count, &text);
    else
        write_json(context, counters, count, &text);
    whole = groat__str_take(&text);
    if (whole == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for the metrics");
    *out = whole;
    return GROAT_OK;
}
