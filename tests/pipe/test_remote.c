/* SPDX-License-Identifier: Apache-2.0
 *
 * test_remote.c: hosts that share kernels through a folder.  A host takes what
 * another has compiled once a signer that it trusts has signed it; anything
 * else in the folder, and any failure of it, is a miss and nothing more.
 */
#include "rig.h"
#include "groat_serve.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"

static const char *const target = "cpu:gfx950";
static rig fix;
static char url[300];
static char objects[256];
static char key_path[256];
static char trust_path[256];
static char other_cache[256];

static void in_root(char out[256], const char *name)
{
    (void)snprintf(out, 256, "%.190s/%s", fix.root, name);
}

static void make_key(const char *path, const char *trusted_by)
{
    char public_key[65];

    ck_assert_int_eq(groat_bundle_keygen(path, public_key, &fix.error),
                     GROAT_OK);
    if (trusted_by != NULL)
        rig_write(trusted_by, public_key, 0600);
}

static void setup(void)
{
    rig_make(&fix);
    rig_write_adder(&fix);
    in_root(objects, "objects");
    in_root(key_path, "key");
    in_root(trust_path, "trust");
    in_root(other_cache, "other");
    (void)snprintf(url, sizeof(url), "file://%s", objects);
    ck_assert_int_eq(mkdir(objects, 0700), 0);
    make_key(key_path, trust_path);
    (void)unsetenv("GROAT_CXX");
}

static void teardown(void)
{
    (void)unsetenv("GROAT_CXX");
    rig_drop(&fix);
}

/* Options of a host that sends what it compiles. */
static groat_options sender(void)
{
    groat_options options = rig_options(&fix);

    options.remote = url;
    options.remote_key = key_path;
    options.trust = trust_path;
    return options;
}

/* Options of another host, with a store of its own, that only takes. */
static groat_options taker(void)
{
    groat_options options = sender();

    options.remote_key = "";
    options.cache_dir = other_cache;
    return options;
}

static groat_remote_info info_of(groat_context *context)
{
    groat_remote_info info = {.size = sizeof(info)};

    ck_assert_int_eq(groat_remote_stat(context, &info, NULL), GROAT_OK);
    return info;
}

static void send_adder(unsigned step)
{
    groat_options options = sender();
    groat_context *context = rig_open_with(&fix, &options);

    rig_kernel(&fix, context, step, GROAT_FROM_COMPILER);
    groat_close(context); /* waits until everything is sent */
}

/* Returns the path of an object; any: of that for hosts without a compiler. */
static void object_path(const char *spec, bool any, char out[500])
{
    groat_remote_names names = {.size = sizeof(names)};
    groat_context *context = rig_open(&fix);
    groat_spec *parsed = rig_parse(&fix, context, spec, target);

    ck_assert_int_eq(groat_remote_names_get(parsed, &names, NULL), GROAT_OK);
    (void)snprintf(out, 500, "%s/%s", objects, any ? names.any : names.name);
    groat_spec_free(parsed);
    groat_close(context);
}

START_TEST(one_compiles_another_takes)
{
    groat_options options = taker();
    groat_context *context;
    groat_remote_info info;

    send_adder(3);
    context = rig_open_with(&fix, &options);
    rig_kernel(&fix, context, 3, GROAT_FROM_REMOTE);
    rig_kernel(&fix, context, 3, GROAT_FROM_MEMORY);
    rig_kernel(&fix, context, 4, GROAT_FROM_COMPILER);
    info = info_of(context);
    ck_assert_str_eq(info.url, url);
    ck_assert_ptr_null(info.problem);
    ck_assert_uint_eq(info.hits, 1);
    ck_assert_uint_eq(info.misses, 1);
    ck_assert_uint_eq(info.trusted_keys, 1);
    ck_assert_int_eq(info.writes, 0);
    ck_assert_uint_gt(info.bytes_in, 1000);
    ck_assert_uint_eq(info.puts + info.put_drops + info.bytes_out, 0);
    ck_assert_uint_eq(rig_stat(context).compiles, 1);
    groat_close(context);
    /* It is in the store now, so the remote is not asked. */
    context = rig_open_with(&fix, &options);
    rig_kernel(&fix, context, 3, GROAT_FROM_DISK);
    info = info_of(context);
    ck_assert_uint_eq(info.hits + info.misses, 0);
    groat_close(context);
    ck_assert_int_eq(fix.warnings, 0);
}
END_TEST

/* Objects of the remote are fetched together, before the first build. */
START_TEST(a_list)
{
    const groat_warm_item items[] = {
        {sizeof(items[0]), "adder:step=3", target},
        {sizeof(items[0]), "adder:step=4", target},
        {sizeof(items[0]), "adder:step=5", target},
        {sizeof(items[0]), "adder:step=666", target}};
    groat_warm_result result = {.size = sizeof(result)};
    groat_options options = taker();
    groat_context *context;
    groat_remote_info info;

    send_adder(3);
    send_adder(5);
    context = rig_open_with(&fix, &options);
    ck_assert_int_eq(
        groat_warm(context, items, 4, 0, NULL, NULL, &result, NULL),
        GROAT_INVALID);
    ck_assert_uint_eq(result.from_disk, 2);
    ck_assert_uint_eq(result.compiled, 1);
    ck_assert_uint_eq(result.failed, 1);
    info = info_of(context);
    ck_assert_uint_eq(info.hits, 2);
    /* The missing one is not asked for again. */
    ck_assert_uint_eq(info.misses, 1);
    ck_assert_uint_eq(info.known_misses, 1);
    groat_close(context);
}
END_TEST

START_TEST(names_of_objects)
{
    static const char *const bad[] = {
        "",
        "v1/../../etc/passwd",
        "v1/cpu-gfx950/00/0000",
        "v1/cpu-gfx950/01/00000000000000000000000000000000",
        "v1/cpu/x/00/00000000000000000000000000000000",
        "v1//00/00000000000000000000000000000000",
        "v2/cpu/00/00000000000000000000000000000000",
        "v1/cpu/00/00000000000000000000000000000000/",
        "v1/c.u/00/00000000000000000000000000000000"};
    static char good[] = "v1/cpu/00/00000000000000000000000000000000";
    char *const one[] = {good};
    groat_options options = taker();
    groat_context *context = rig_open_with(&fix, &options);

    ck_assert_int_eq(groat_remote_fetch(context, one, 1, 0, NULL, NULL, NULL),
                     GROAT_OK);
    for (size_t i = 0; i < COUNT(bad); i++) {
        char *const names[] = {good, (char *)(uintptr_t)bad[i]};

        ck_fails(
            groat_remote_fetch(context, names, 2, 0, NULL, NULL, &fix.error),
            GROAT_INVALID, &fix.error, "names[1] is '");
        ck_fails(groat_remote_remove(context, names, 2, NULL, &fix.error),
                 GROAT_INVALID, &fix.error, "v1/TARGET/KK/KEY");
    }
    groat_close(context);
}
END_TEST

START_TEST(what_is_counted)
{
    groat_options options = sender();
    groat_context *context = rig_open_with(&fix, &options);
    groat_remote_info info;
    char *text = NULL;

    rig_kernel(&fix, context, 3, GROAT_FROM_COMPILER);
    for (int i = 0; i < 500; i++) {
        info = info_of(context);
        if (info.puts == 2)
            break;
        (void)usleep(10000);
    }
    ck_assert_uint_eq(info.puts, 2);
    ck_assert_uint_gt(info.bytes_out, 2000);
    ck_assert_int_eq(
        groat_metrics(context, GROAT_METRICS_PROMETHEUS, &text, NULL),
        GROAT_OK);
    ck_assert_ptr_nonnull(strstr(text, "\ngroat_remote_puts_total 2\n"));
    ck_assert_ptr_nonnull(strstr(text, "\ngroat_remote_misses_total 1\n"));
    ck_assert_ptr_nonnull(strstr(text, "\ngroat_remote_breaker_open 0\n"));
    ck_assert_ptr_nonnull(
        strstr(text, "groat_stage_seconds_count{stage=\"remote\"} 1\n"));
    ck_assert_ptr_nonnull(
        strstr(text, "groat_stage_seconds_count{stage=\"lease\"} 0\n"));
    groat_free(text);
    groat_close(context);
}
END_TEST

START_TEST(a_sealed_context_asks_nobody)
{
    const groat_warm_item items[] = {
        {.size = sizeof(items[0]), .spec = "adder:step=3", .target = target},
        {.size = sizeof(items[0]), .spec = "adder:step=4", .target = target}};
    groat_options options = taker();
    groat_context *context;
    groat_kernel *kernel = NULL;
    groat_remote_info info;

    send_adder(3);
    context = rig_open_with(&fix, &options);
    groat_seal(context);
    ck_assert_int_eq(groat_kernel_get(context, "adder:step=3", target, &kernel,
                                      NULL, &fix.error),
                     GROAT_SEALED);
    info = info_of(context);
    ck_assert_uint_eq(info.hits + info.misses + info.known_misses +
                          info.skipped + info.bytes_in,
                      0);
    ck_assert_int_eq(groat_warm(context, items, 2, 0, NULL, NULL, NULL, NULL),
                     GROAT_SEALED);
    info = info_of(context);
    ck_assert_uint_eq(info.hits + info.misses + info.skipped + info.bytes_in,
                      0);
    groat_unseal(context);
    rig_kernel(&fix, context, 3, GROAT_FROM_REMOTE);
    groat_close(context);
}
END_TEST

/* Returns an object with a valid signature that no loader takes. */
static groat__str signed_garbage(const char *path)
{
    static const char garbage[] = "no shared object";
    groat__secret secret;
    groat__arrival arrival;
    groat__entry entry;
    groat__trust trust;
    groat__str text = {0};
    groat__str object = {0};

    ck_assert_int_eq(groat__secret_read(key_path, &secret, NULL), GROAT_OK);
    ck_assert_int_eq(groat__trust_read(trust_path, &trust, NULL), GROAT_OK);
    ck_assert_int_eq(
        groat__fs_read(path, (size_t)1 << 20, &object.data, &object.len, NULL),
        GROAT_OK);
    ck_assert_int_eq(groat__entry_read(&object, &trust, &arrival),
                     GROAT__ENTRY_GOOD);
    entry = (groat__entry){arrival.key, arrival.identity, "",
                           garbage,     sizeof(garbage),  arrival.blob.facts};
    ck_assert_int_eq(groat__entry_write(&entry, &secret, &text, NULL),
                     GROAT_OK);
    groat__arrival_free(&arrival);
    groat__trust_free(&trust);
    return text;
}

static void write_bytes(const char *path, const char *data, size_t bytes)
{
    (void)unlink(path);
    ck_assert_int_eq(groat__fs_write(path, data, bytes, 0600, NULL), GROAT_OK);
}

/* A bad object is no kernel: it is counted, and the kernel compiled. */
START_TEST(wrong_objects)
{
    enum { CUT, CHANGED, LONGER, EMPTY, OTHER, FOLDER, GARBAGE, KINDS };
    char path[500];
    char other[500];
    groat__str garbage;
    char *data = NULL;
    char *wrong = NULL;
    size_t bytes = 0;
    size_t wrong_bytes = 0;

    send_adder(3);
    send_adder(4);
    object_path("adder:step=3", false, path);
    object_path("adder:step=4", false, other);
    garbage = signed_garbage(path);
    ck_assert_int_eq(groat__fs_read(path, (size_t)1 << 20, &data, &bytes, NULL),
                     GROAT_OK);
    ck_assert_int_eq(
        groat__fs_read(other, (size_t)1 << 20, &wrong, &wrong_bytes, NULL),
        GROAT_OK);
    for (int kind = 0; kind < KINDS; kind++) {
        groat_options options = taker();
        groat_context *context;
        groat_remote_info info;

        options.flags = GROAT_OPEN_NO_DISK;
        data[bytes / 2] = (char)(data[bytes / 2] ^ (kind == CHANGED));
        if (kind == OTHER)
            write_bytes(path, wrong, wrong_bytes);
        else if (kind == GARBAGE)
            write_bytes(path, garbage.data, garbage.len);
        else
            write_bytes(path, data,
                        kind == EMPTY    ? 0
                        : kind == CUT    ? bytes - 1
                        : kind == LONGER ? bytes + 1
                                         : bytes);
        data[bytes / 2] = (char)(data[bytes / 2] ^ (kind == CHANGED));
        if (kind == FOLDER) {
            ck_assert_int_eq(unlink(path), 0);
            ck_assert_int_eq(mkdir(path, 0700), 0);
        }
        context = rig_open_with(&fix, &options);
        rig_kernel(&fix, context, 3, GROAT_FROM_COMPILER);
        info = info_of(context);
        ck_assert_uint_eq(info.hits, kind == GARBAGE);
        ck_assert_uint_eq(info.malformed,
                          kind == CUT || kind == LONGER || kind == EMPTY);
        ck_assert_uint_eq(info.refused, kind == CHANGED);
        ck_assert_uint_eq(info.mistaken, kind == OTHER);
        ck_assert_uint_eq(info.errors, kind == FOLDER);
        groat_close(context);
        if (kind == FOLDER)
            ck_assert_int_eq(rmdir(path), 0);
    }
    groat__str_free(&garbage);
    free(wrong);
    free(data);
}
END_TEST

/* Signed by a key that is not trusted; and a host that trusts no key. */
START_TEST(whom_nobody_trusts)
{
    groat_options options = taker();
    groat_context *context;
    char stranger[256];
    char strange_trust[256];

    in_root(stranger, "stranger");
    in_root(strange_trust, "strange_trust");
    make_key(stranger, strange_trust);
    send_adder(3);
    options.trust = strange_trust;
    context = rig_open_with(&fix, &options);
    rig_kernel(&fix, context, 3, GROAT_FROM_COMPILER);
    ck_assert_uint_eq(info_of(context).refused, 1);
    groat_close(context);
    ck_assert_int_eq(fix.warnings, 1);
    options = taker();
    options.trust = NULL;
    options.flags = GROAT_OPEN_NO_DISK;
    context = rig_open_with(&fix, &options);
    rig_kernel(&fix, context, 3, GROAT_FROM_COMPILER);
    rig_kernel(&fix, context, 5, GROAT_FROM_COMPILER);
    ck_assert_uint_eq(info_of(context).bytes_in, 0);
    groat_close(context);
    ck_assert_int_eq(rig_said(&fix, "no key is trusted"), 1);
}
END_TEST

/* A host without a compiler asks by the first half of the identity alone. */
START_TEST(without_a_compiler)
{
    groat_options options = taker();
    groat_kernel *kernel = NULL;
    groat_context *context;
    char any[500];
    char other[500];

    send_adder(3);
    ck_assert_int_eq(setenv("GROAT_CXX", "/dev/null/none", 1), 0);
    context = rig_open_with(&fix, &options);
    rig_kernel(&fix, context, 3, GROAT_FROM_REMOTE);
    ck_assert_uint_eq(info_of(context).hits, 1);
    groat_close(context);
    context = rig_open_with(&fix, &options); /* now the store has it */
    rig_kernel(&fix, context, 3, GROAT_FROM_DISK);
    ck_assert_uint_eq(info_of(context).hits, 0);
    ck_fails(groat_kernel_get(context, "adder:step=4", target, &kernel, NULL,
                              &fix.error),
             GROAT_NO_DEVICE, &fix.error, "GROAT_CXX=/dev/null/none");
    groat_close(context);
    /* Another kernel's object under that name is not used. */
    (void)unsetenv("GROAT_CXX");
    send_adder(5);
    object_path("adder:step=3", true, any);
    (void)unlink(any);
    object_path("adder:step=5", true, other);
    ck_assert_int_eq(link(other, any), 0);
    ck_assert_int_eq(setenv("GROAT_CXX", "/dev/null/none", 1), 0);
    options.flags = GROAT_OPEN_NO_DISK;
    context = rig_open_with(&fix, &options);
    ck_fails(groat_kernel_get(context, "adder:step=3", target, &kernel, NULL,
                              &fix.error),
             GROAT_NO_DEVICE, &fix.error, "GROAT_CXX=/dev/null/none");
    (void)groat_remote_fetch(context, (char *[]){strstr(any, "v1/")}, 1, 0,
                             NULL, NULL, NULL);
    ck_assert_uint_eq(info_of(context).mistaken, 2);
    ck_assert_uint_eq(info_of(context).hits, 0);
    groat_close(context);
}
END_TEST

/* No server answers: the first kernel finds that out, the others do not ask
 * within half a second, the shortest wait of the breaker. */
START_TEST(nobody_is_there)
{
    double start_ms = groat__now_ms();
    groat_options options = sender();
    groat_context *context;
    groat_context *second;
    groat_remote_info info;

    options.remote = "http://localhost:1/x";
    options.leases = "redis://localhost:1";
    context = rig_open_with(&fix, &options);
    for (unsigned step = 3; step < 6; step++)
        rig_kernel(&fix, context, step, GROAT_FROM_COMPILER);
    info = info_of(context);
    if (strstr(fix.lines.data, "libcurl.so.4 was not found") == NULL) {
        ck_assert_uint_ge(info.errors, 1);
        ck_assert_uint_eq(info.breaker_opens, 1);
        if (groat__now_ms() - start_ms < 500) {
            ck_assert_uint_eq(info.errors, 1);
            ck_assert_uint_eq(info.skipped, 2);
            ck_assert_int_eq(info.breaker_open, 1);
            ck_assert_uint_eq(info.put_drops, 3);
        }
        ck_assert_uint_eq(info.lease_errors, 0);
        ck_assert_int_eq(info.lease_breaker_open, 0); /* it was not asked */
    }
    ck_assert_int_eq(fix.warnings, 1);
    /* Another context of the process does not have to try. */
    options.cache_dir = other_cache;
    second = rig_open_with(&fix, &options);
    rig_kernel(&fix, second, 3, GROAT_FROM_COMPILER);
    if (info.breaker_open && groat__now_ms() - start_ms < 500) {
        info = info_of(second);
        ck_assert_uint_eq(info.errors, 0);
        ck_assert_uint_eq(info.skipped, 1);
    }
    groat_close(second);
    groat_close(context);
}
END_TEST

/* A lease server at which another host holds each lease for ever. */
static void *never_free(void *user)
{
    char words[4096];
    int listener = *(int *)user;
    int fd;

    while ((fd = accept(listener, NULL, NULL)) >= 0) {
        ssize_t bytes;

        while ((bytes = read(fd, words, sizeof(words) - 1)) > 0) {
            const char *answer = ":1\r\n";

            words[bytes] = '\0';
            if (strstr(words, "SET") != NULL)
                answer = "$-1\r\n";
            (void)write(fd, answer, strlen(answer));
        }
        (void)close(fd);
    }
    return NULL;
}

static void serve_leases(int *listener, char leases[300])
{
    struct sockaddr_un here = {.sun_family = AF_UNIX};
    pthread_t thread;

    (void)snprintf(here.sun_path, sizeof(here.sun_path), "%.90s/leases",
                   fix.root);
    (void)snprintf(leases, 300, "unix://%s", here.sun_path);
    *listener = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_eq(
        bind(*listener, (const struct sockaddr *)&here, sizeof(here)), 0);
    ck_assert_int_eq(listen(*listener, 8), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, never_free, listener), 0);
    (void)pthread_detach(thread);
}

/* Starts a kernel; returns whether it waits for a lease, false if it is made.
 * The wait lasts half a minute where no compile was measured. */
static bool start_and_wait(groat_context *context, groat_spec *spec,
                           groat_request **request)
{
    bool waits = false;

    ck_assert_int_eq(groat_kernel_start(spec, NULL, request, &fix.error),
                     GROAT_OK);
    while (!waits && groat_request_kernel(*request) == NULL) {
        (void)usleep(1000);
        waits = info_of(context).lease_waits == 1;
    }
    return waits;
}

START_TEST(a_close_ends_the_wait)
{
    static int listener;
    groat_options options = sender();
    groat_request *request = NULL;
    groat_context *context;
    groat_spec *spec;
    char leases[300];
    double start_ms;
    bool waits;

    serve_leases(&listener, leases);
    options.leases = leases;
    context = rig_open_with(&fix, &options);
    spec = rig_parse(&fix, context, "adder:step=3", target);
    waits = start_and_wait(context, spec, &request);
    start_ms = groat__now_ms();
    groat_request_free(request);
    groat_spec_free(spec);
    groat_close(context);
    ck_assert(groat__now_ms() - start_ms < 15000);
    ck_assert(waits || strstr(fix.lines.data, "no leases are taken") != NULL);
}
END_TEST

/* A host that keeps its lease after it has sent its kernel, or died: whoever
 * waits looks for the kernel, too. */
START_TEST(an_entry_ends_the_wait)
{
    static int listener;
    groat_options options = sender();
    groat_request *request = NULL;
    groat_context *context;
    groat_spec *spec;
    groat_kernel *kernel;
    char leases[300];
    char aside[256];
    bool waits;

    send_adder(3);
    in_root(aside, "aside");
    ck_assert_int_eq(rename(objects, aside), 0);
    ck_assert_int_eq(mkdir(objects, 0700), 0);
    serve_leases(&listener, leases);
    options.leases = leases;
    options.cache_dir = other_cache;
    context = rig_open_with(&fix, &options);
    spec = rig_parse(&fix, context, "adder:step=3", target);
    waits = start_and_wait(context, spec, &request);
    if (waits)
        ck_assert_int_eq(rename(aside, objects), 0);
    while ((kernel = groat_request_kernel(request)) == NULL)
        (void)usleep(1000);
    ck_assert(rig_adds(context, target, kernel, 3));
    ck_assert_uint_eq(info_of(context).hits, waits ? 1 : 0);
    ck_assert_uint_eq(info_of(context).lease_timeouts, 0);
    ck_assert(waits || strstr(fix.lines.data, "no leases are taken") != NULL);
    groat_request_free(request);
    groat_spec_free(spec);
    groat_close(context);
}
END_TEST

/* A bad option is reported, and stops nothing. */
START_TEST(bad_options)
{
    static const struct {
        const char *remote, *key, *leases, *says;
    } bad[] = {
        {"nonsense", NULL, NULL, "the remote is 'nonsense...'"},
        {"ftp://me:hidden@there", NULL, NULL, "the remote is 'ftp:...'"},
        {"s3://me:hidden@there", NULL, NULL, "s3://BUCKET/PREFIX"},
    };

    for (size_t i = 0; i < COUNT(bad); i++) {
        groat_options options = taker();
        groat_context *context;
        groat_remote_info info;

        options.flags = GROAT_OPEN_NO_DISK;
        options.remote = bad[i].remote;
        options.remote_key = bad[i].key;
        options.leases = bad[i].leases;
        context = rig_open_with(&fix, &options);
        rig_kernel(&fix, context, 3, GROAT_FROM_COMPILER);
        info = info_of(context);
        ck_assert_ptr_null(info.url);
        ck_assert_msg(strstr(info.problem, bad[i].says) != NULL, "%s",
                      info.problem);
        ck_fails(groat_remote_list(context, NULL, NULL, &fix.error), GROAT_IO,
                 &fix.error, bad[i].says);
        groat_close(context);
        ck_assert_int_eq(fix.warnings, (int)i + 1);
    }
}
END_TEST

/* A host that cannot sign, or has no lease server, still reads. */
START_TEST(bad_parts)
{
    static const struct {
        const char *key, *leases, *says;
    } bad[] = {
        {"/dev/null/none", NULL, "nothing is sent to remote"},
        {NULL, "localhost", "no leases are taken: the lease server's URL"},
    };

    send_adder(3);
    for (size_t i = 0; i < COUNT(bad); i++) {
        groat_options options = taker();
        groat_context *context;

        options.flags = GROAT_OPEN_NO_DISK;
        options.remote_key = bad[i].key != NULL ? bad[i].key : "";
        options.leases = bad[i].leases;
        context = rig_open_with(&fix, &options);
        ck_assert_int_eq(rig_said(&fix, bad[i].says), 1);
        rig_kernel(&fix, context, 3, GROAT_FROM_REMOTE);
        groat_close(context);
    }
}
END_TEST

/* ---- tools --------------------------------------------------------------- */

typedef struct seen {
    char *names[16];
    size_t count;
    size_t done;
    size_t bad;
    char spec[200];
} seen;

static int on_object(void *user, const groat_remote_object *object)
{
    seen *s = user;

    ck_assert_uint_lt(s->count, COUNT(s->names));
    ck_assert_int_eq(strncmp(object->name, "v1/cpu-gfx950/", 14), 0);
    s->names[s->count++] = strdup(object->name);
    s->done += object->done != 0;
    s->bad += object->problem != NULL;
    if (object->spec != NULL)
        (void)snprintf(s->spec, sizeof(s->spec), "%s", object->spec);
    return 0;
}

static void forget(seen *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->names[i]);
    memset(s, 0, sizeof(*s));
}

START_TEST(tools)
{
    groat_options options = taker();
    groat_context *context;
    uint64_t removed = 0;
    seen s = {.count = 0};
    seen list = {.count = 0};

    send_adder(3);
    context = rig_open_with(&fix, &options);
    ck_assert_int_eq(groat_remote_list(context, on_object, &list, NULL),
                     GROAT_OK);
    ck_assert_uint_eq(list.count, 2);
    ck_assert_int_eq(strncmp(list.names[0], "v1/cpu-gfx950/", 14), 0);
    ck_assert_int_eq(
        groat_remote_fetch(context, list.names, 2, 0, on_object, &s, NULL),
        GROAT_OK);
    ck_assert_uint_eq(s.count, 2);
    ck_assert_uint_eq(s.done + s.bad, 0);
    ck_assert_int_eq(strncmp(s.spec, "adder:step=3", 12), 0);
    ck_assert_uint_eq(rig_stat(context).entries, 0);
    forget(&s);
    ck_assert_int_eq(groat_remote_fetch(context, list.names, 2,
                                        GROAT_REMOTE_KEEP, on_object, &s, NULL),
                     GROAT_OK);
    ck_assert_uint_eq(s.done, 1);
    ck_assert_uint_eq(rig_stat(context).entries, 1);
    forget(&s);
    ck_fails(groat_remote_fetch(context, list.names, 1, 4, on_object, &s,
                                &fix.error),
             GROAT_INVALID, &fix.error, "flags is 0x4; known: 0x3");
    ck_fails(groat_remote_push(context, NULL, on_object, &s, &fix.error),
             GROAT_IO, &fix.error, "only read here");
    ck_assert_int_eq(
        groat_remote_remove(context, list.names, 2, &removed, NULL), GROAT_OK);
    ck_assert_uint_eq(removed, 2);
    ck_assert_int_eq(
        groat_remote_fetch(context, list.names, 1, 0, on_object, &s, NULL),
        GROAT_OK);
    ck_assert_uint_eq(s.bad, 1);
    groat_close(context);
    forget(&s);
    forget(&list);
}
END_TEST

/* Stores an entry that is larger than an object may be; context closed. */
static void put_large(void)
{
    static const char identity[] = "groat large\ntarget cpu:gfx950\n";
    const groat__store_options options = {.dir = fix.cache,
                                          .max_bytes = (uint64_t)1 << 30};
    groat__digest key = groat__hash128(identity, strlen(identity));
    size_t bytes = ((size_t)16 << 20) + 1;
    char *data = calloc(1, bytes);
    groat__store *store = NULL;

    ck_assert_ptr_nonnull(data);
    ck_assert_int_eq(groat__store_open(&options, &store, &fix.error), GROAT_OK);
    groat__store_put(store, &key, identity, data, bytes, NULL, NULL);
    ck_assert(groat__store_has(store, &key, identity));
    groat__store_close(store);
    free(data);
}

/* The problem is reported, and the other objects are sent. */
START_TEST(too_large_to_send)
{
    groat_options options = rig_options(&fix);
    groat_context *context = rig_open_with(&fix, &options);
    seen s = {.count = 0};

    rig_kernel(&fix, context, 3, GROAT_FROM_COMPILER);
    groat_close(context);
    put_large();
    options = sender();
    context = rig_open_with(&fix, &options);
    ck_assert_int_eq(groat_remote_push(context, NULL, on_object, &s, NULL),
                     GROAT_OK);
    ck_assert_uint_eq(s.count, 3);
    ck_assert_uint_eq(s.bad, 1);
    ck_assert_uint_eq(s.done, 2);
    groat_close(context);
    forget(&s);
}
END_TEST

enum { LONG_LIST = 300 /* more than are under way, done and not told */ };

typedef struct counting {
    size_t told, absent, bad;
    size_t last; /* the report to stop at */
} counting;

static int count_object(void *user, const groat_remote_object *object)
{
    counting *c = user;

    c->told++;
    c->absent += object->absent != 0;
    c->bad += object->problem != NULL && !object->absent;
    return c->told == c->last;
}

/* Each object is reported once, present or absent, until fn stops. */
START_TEST(a_long_list)
{
    static char absent[] = "v1/cpu-gfx950/00/00000000000000000000000000000000";
    groat_options options = taker();
    groat_context *context;
    seen list = {.count = 0};
    char *names[LONG_LIST];

    send_adder(3);
    context = rig_open_with(&fix, &options);
    ck_assert_int_eq(groat_remote_list(context, on_object, &list, NULL),
                     GROAT_OK);
    for (size_t i = 0; i < LONG_LIST; i++)
        names[i] = i % 3 == 0 ? absent : list.names[i % 2];
    for (size_t last = 0; last <= LONG_LIST; last += LONG_LIST / 3) {
        counting c = {.last = last};

        ck_assert_int_eq(groat_remote_fetch(context, names, LONG_LIST,
                                            GROAT_REMOTE_KEEP, count_object, &c,
                                            &fix.error),
                         GROAT_OK);
        ck_assert_uint_eq(c.told, last == 0 ? LONG_LIST : last);
        ck_assert_uint_eq(c.bad, 0);
        if (last == 0)
            ck_assert_uint_eq(c.absent, LONG_LIST / 3);
    }
    ck_assert_uint_eq(rig_stat(context).entries, 1);
    groat_close(context);
    forget(&list);
}
END_TEST

/* Pushes from a store and from a bundle; present objects are not sent again. */
START_TEST(push)
{
    static const char *const others[] = {"cpu:sm_90a"};
    static const char *const nobody[] = {"v1/cpu-gfx950/00/00"};
    groat_remote_choice choice = {.size = sizeof(choice)};
    groat_options options = rig_options(&fix);
    groat_context *context = rig_open_with(&fix, &options);
    char bundle[256];
    seen s = {.count = 0};

    in_root(bundle, "bundle");
    rig_kernel(&fix, context, 3, GROAT_FROM_COMPILER);
    ck_assert_int_eq(
        groat_bundle_export(context, bundle, NULL, 0, NULL, NULL, NULL),
        GROAT_OK);
    rig_kernel(&fix, context, 4, GROAT_FROM_COMPILER);
    groat_close(context);
    options = sender();
    context = rig_open_with(&fix, &options);
    choice.targets = others;
    choice.target_count = 1;
    ck_assert_int_eq(groat_remote_push(context, &choice, on_object, &s, NULL),
                     GROAT_OK);
    ck_assert_uint_eq(s.count, 0);
    choice = (groat_remote_choice){.size = sizeof(choice), .bundle = bundle};
    ck_assert_int_eq(groat_remote_push(context, &choice, on_object, &s, NULL),
                     GROAT_OK);
    ck_assert_uint_eq(s.done, 2);
    choice = (groat_remote_choice){
        .size = sizeof(choice), .names = nobody, .name_count = 1};
    ck_assert_int_eq(groat_remote_push(context, &choice, on_object, &s, NULL),
                     GROAT_OK);
    ck_assert_uint_eq(s.count, 2);
    ck_assert_int_eq(groat_remote_push(context, NULL, on_object, &s, NULL),
                     GROAT_OK);
    ck_assert_uint_eq(s.count, 6);
    ck_assert_uint_eq(s.done, 4);
    ck_assert_uint_eq(s.bad, 0);
    groat_close(context);
    forget(&s);
    options = taker();
    context = rig_open_with(&fix, &options);
    rig_kernel(&fix, context, 3, GROAT_FROM_REMOTE);
    rig_kernel(&fix, context, 4, GROAT_FROM_REMOTE);
    groat_close(context);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("remote");
    TCase *tests = tcase_create("remote");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, one_compiles_another_takes);
    tcase_add_test(tests, a_list);
    tcase_add_test(tests, names_of_objects);
    tcase_add_test(tests, what_is_counted);
    tcase_add_test(tests, a_sealed_context_asks_nobody);
    tcase_add_test(tests, wrong_objects);
    tcase_add_test(tests, whom_nobody_trusts);
    tcase_add_test(tests, without_a_compiler);
    tcase_add_test(tests, nobody_is_there);
    tcase_add_test(tests, a_close_ends_the_wait);
    tcase_add_test(tests, an_entry_ends_the_wait);
    tcase_add_test(tests, bad_options);
    tcase_add_test(tests, bad_parts);
    tcase_add_test(tests, tools);
    tcase_add_test(tests, a_long_list);
    tcase_add_test(tests, push);
    tcase_add_test(tests, too_large_to_send);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
