/* SPDX-License-Identifier: Apache-2.0
 *
 * strike.c owns the world in which faults are made, and what must hold in it:
 * each get returns its kernel and never a wrong one; what the store promised to
 * keep is there afterwards; nothing hangs; each loss is logged exactly once;
 * the folder has no file that doc/store.md does not name.
 *
 * compiler.c is the compiler.
 */
#include "strike.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>

#include "base/error.h"

/* ---- the world --------------------------------------------------------- */

static void use_compiler(const world *w)
{
    char path[300];

    (void)snprintf(path, sizeof(path), "%s/made", w->rig.root);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(setenv("GROAT_TEST_MADE", path, 1), 0);
    ck_assert_int_eq(setenv("GROAT_TEST_CXX", "c++", 1), 0);
    ck_assert_int_eq(setenv("GROAT_CXX", w->compiler, 1), 0);
}

/* Builds a step and keeps its binary, as the compiler does. */
static void learn(world *w, groat_context *context, unsigned step)
{
    known *k = &w->kernels[step];
    groat_spec *spec;
    char text[32];
    char key[33];

    (void)snprintf(text, sizeof(text), "adder:step=%u", step);
    spec = rig_parse(&w->rig, context, text, rig_targets[0]);
    ck_assert_msg(groat_build(spec, &k->data, &k->bytes, NULL, &w->rig.error) ==
                      GROAT_OK,
                  "%s\n%s", w->rig.error.text,
                  w->rig.error.log == NULL ? "" : w->rig.error.log);
    ck_assert_int_eq(groat_spec_key(spec, key, &k->identity, NULL), GROAT_OK);
    ck_assert(groat__unhex(k->key.bytes, sizeof(k->key.bytes), key));
    groat_spec_free(spec);
}

/* Exports a bundle of one kernel, and clears the store. */
static void export_one(world *w, groat_context *context, unsigned step,
                       const char *path)
{
    learn(w, context, step);
    ck_assert_int_eq(
        groat_bundle_export(context, path, NULL, 0, NULL, NULL, &w->rig.error),
        GROAT_OK);
    ck_assert_int_eq(groat_cache_clear(context, NULL, NULL), GROAT_OK);
}

void world_copy(const char *from, const char *to)
{
    char *data = NULL;
    size_t bytes = 0;

    ck_assert_int_eq(groat__fs_read(from, 16 * MIB, &data, &bytes, NULL),
                     GROAT_OK);
    file_write(to, data, bytes);
    free(data);
}

/* No test cuts the power. */
static void make_hasty(groat__store *store)
{
    (void)sqlite3_exec(store->db, "PRAGMA synchronous = OFF", NULL, NULL, NULL);
}

/* Whether a store begins with a view depends on the file's age: it is old. */
static void age(const world *w)
{
    const struct timespec then[2] = {{1000, 0}, {1000, 0}};

    (void)utimensat(AT_FDCWD, w->rig.store, then, 0);
}

groat__store *world_store(const world *w)
{
    groat__store_options options = {.dir = w->rig.cache, .max_bytes = 16 * MIB};
    groat__store *store = NULL;

    age(w);
    ck_assert_int_eq(groat__store_open(&options, &store, NULL), GROAT_OK);
    make_hasty(store);
    return store;
}

static size_t filler_bytes(unsigned n)
{
    return 1 + n * n * 2000;
}

/* Fillers are older than IN_STORE; the -wal stays if the store is not
 * closed. */
static void fill(const world *w, bool closes)
{
    const known *k = &w->kernels[IN_STORE];
    groat__store *store = world_store(w);

    for (unsigned n = 1; n <= FILLERS; n++)
        kernel_put(store, n, filler_bytes(n));
    groat__store_put(store, &k->key, k->identity, k->data, k->bytes, "", NULL);
    if (closes)
        groat__store_close(store);
}

static void make_killed(world *w)
{
    char from[320];
    char to[320];
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        fill(w, false);
        (void)raise(SIGKILL);
    }
    ck_assert_int_eq(child_status(pid), -1);
    world_copy(w->rig.store, w->killed);
    (void)snprintf(from, sizeof(from), "%s-wal", w->rig.store);
    (void)snprintf(to, sizeof(to), "%s-wal", w->killed);
    world_copy(from, to);
    ck_assert_uint_gt(file_size(to), w->kernels[IN_STORE].bytes);
    remove_folder(w->rig.cache);
}

/* Finds the programs next to this one, wherever libtool has put it. */
static void find_parts(world *w)
{
    char self[256];
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *end;

    ck_assert_int_gt(len, 0);
    self[len] = '\0';
    end = strrchr(self, '/');
    ck_assert_ptr_nonnull(end);
    *end = '\0';
    (void)snprintf(w->worker, sizeof(w->worker), "%s/worker", self);
    (void)snprintf(w->preload, sizeof(w->preload), "%s/.libs/libfaulty.so",
                   self);
    (void)snprintf(w->compiler, sizeof(w->compiler), "%s/compiler", self);
    ck_assert_int_eq(access(w->worker, X_OK), 0);
    ck_assert_int_eq(access(w->compiler, X_OK), 0);
    ck_assert_int_eq(access(w->preload, R_OK), 0);
}

/* Writes an adder that mostly consists of numbers, which it sums up first: with
 * one of their bits flipped it adds something else. */
static void write_touchy_adder(const world *w)
{
    enum { NUMBERS = 2000 };
    static const char line[] = "v.x += params::step,";
    const char *at = strstr(adder_kernel, line);
    const char *head = strstr(adder_kernel, "GROAT_KERNEL");
    groat__str text = {0};
    uint64_t random = 5;
    uint32_t sum = 0;

    ck_assert(at != NULL && head != NULL);
    groat__str_addn(&text, adder_kernel, (size_t)(head - adder_kernel));
    groat__str_add(&text, "static const volatile unsigned numbers[] = {");
    for (int i = 0; i < NUMBERS; i++) {
        uint32_t number = (uint32_t)next_random(&random);

        groat__str_addf(&text, "%uu,%s", number, i % 8 == 7 ? "\n" : " ");
        sum += number;
    }
    groat__str_add(&text, "};\n");
    groat__str_addn(&text, head, (size_t)(at - head));
    groat__str_addf(&text,
                    "u32 wrong = 0u - %uu;\n"
                    "for (unsigned number : numbers) wrong += number;\n"
                    "v.x += wrong;\n%s",
                    sum, at);
    rig_write_source(&w->rig, "adder", "adder.h", text.data);
    groat__str_free(&text);
}

void world_make(world *w)
{
    groat_context *context;
    char tmp[256];

    memset(w, 0, sizeof(*w));
    rig_make(&w->rig);
    find_parts(w);
    rig_write_adder(&w->rig);
    write_touchy_adder(w);
    use_compiler(w);
    (void)snprintf(tmp, sizeof(tmp), "%s/tmp", w->rig.root);
    ck_assert_int_eq(mkdir(tmp, 0700), 0);
    ck_assert_int_eq(setenv("TMPDIR", tmp, 1), 0);
    (void)snprintf(w->report, sizeof(w->report), "%s/report", w->rig.root);
    (void)snprintf(w->out, sizeof(w->out), "%s/out", w->rig.root);
    (void)snprintf(w->held, sizeof(w->held), "%s/held", w->rig.root);
    (void)snprintf(w->killed, sizeof(w->killed), "%s/killed", w->rig.root);
    (void)snprintf(w->sound_bundle, sizeof(w->sound_bundle), "%s/made/bundle",
                   w->rig.root);
    (void)snprintf(w->sound_image, sizeof(w->sound_image), "%s/made/image",
                   w->rig.root);
    (void)snprintf(w->bundle, sizeof(w->bundle), "%s/bundle", w->rig.root);
    (void)snprintf(w->image, sizeof(w->image), "%s/image", w->rig.root);
    context = rig_open(&w->rig);
    export_one(w, context, IN_BUNDLE, w->sound_bundle);
    export_one(w, context, IN_IMAGE, w->sound_image);
    learn(w, context, IN_STORE);
    learn(w, context, NEW);
    learn(w, context, NEWER);
    groat_close(context);
    remove_folder(w->rig.cache);
    fill(w, true);
    world_copy(w->rig.store, w->held);
    w->held_bytes = file_size(w->held);
    remove_folder(w->rig.cache);
    make_killed(w);
}

void world_drop(world *w)
{
    for (int i = 0; i < STEPS; i++) {
        groat_free(w->kernels[i].identity);
        groat_free(w->kernels[i].data);
    }
    rig_drop(&w->rig);
}

void world_set(world *w, scene at)
{
    char path[320];

    remove_folder(w->rig.cache);
    world_copy(w->sound_bundle, w->bundle);
    world_copy(w->sound_image, w->image);
    if (at == SCENE_FRESH)
        return;
    ck_assert_int_eq(mkdir(w->rig.cache, 0700), 0);
    world_copy(at == SCENE_KILLED ? w->killed : w->held, w->rig.store);
    if (at == SCENE_KILLED) {
        char from[320];

        (void)snprintf(from, sizeof(from), "%s-wal", w->killed);
        (void)snprintf(path, sizeof(path), "%s-wal", w->rig.store);
        world_copy(from, path);
    }
    if (at == SCENE_DAMAGED)
        world_write(w->rig.store, 0, 4096);
}

void world_write(const char *path, uint64_t from, size_t bytes)
{
    uint64_t random = 7 + from;
    FILE *file = fopen(path, "r+");

    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fseek(file, (long)from, SEEK_SET), 0);
    for (size_t i = 0; i < bytes; i++)
        ck_assert_int_ne(fputc((int)(next_random(&random) & 0xff), file), EOF);
    ck_assert_int_eq(fclose(file), 0);
}

void world_flip(const char *path, uint64_t bit)
{
    FILE *file = fopen(path, "r+");
    int byte;

    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fseek(file, (long)(bit / 8), SEEK_SET), 0);
    byte = fgetc(file);
    ck_assert_int_ne(byte, EOF);
    ck_assert_int_eq(fseek(file, (long)(bit / 8), SEEK_SET), 0);
    ck_assert_int_ne(fputc(byte ^ 1 << bit % 8, file), EOF);
    ck_assert_int_eq(fclose(file), 0);
}

/* ---- the worker -------------------------------------------------------- */

/* In the child: sets the variables of faulty.h for the strike. */
static void set_strike(const world *w, const strike *s)
{
    char at[32];

    (void)setenv("LD_PRELOAD", w->preload, 1);
    (void)setenv("FAULTY_REPORT", w->report, 1);
    if (!s->naps)
        (void)setenv("FAULTY_NAPS", "skip", 1);
    if (s->clock != NULL)
        (void)setenv("FAULTY_CLOCK", s->clock, 1);
    if (s->files != NULL)
        (void)setenv("FAULTY_FILES", s->files, 1);
    if (s->n == 0)
        return;
    (void)snprintf(at, sizeof(at), "%u%s", s->n, s->on ? "+" : "");
    (void)setenv("FAULTY_AT", at, 1);
    (void)setenv("FAULTY_CALLS", s->calls, 1);
    (void)setenv("FAULTY_DO", s->deed, 1);
}

static pid_t start(const world *w, const strike *s)
{
    char bound[32];
    pid_t pid;

    age(w);
    pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid != 0)
        return pid;
    (void)snprintf(bound, sizeof(bound), "%llu",
                   s->at == SCENE_FULL
                       ? (unsigned long long)w->held_bytes + 16384
                       : 16 * MIB);
    if (freopen(w->out, "w", stdout) == NULL)
        _exit(99);
    set_strike(w, s);
    (void)alarm(TIME_S);
    (void)execl(w->worker, w->worker, w->rig.cache, w->rig.families, w->bundle,
                w->image, bound, "1", "2", "3", "4", "5", "1", (char *)NULL);
    _exit(99);
}

static void read_line(sight *out, const char *line)
{
    unsigned long long n[5];
    char right[8];
    char kept[8];
    got *g = &out->gets[out->got];

    if (strncmp(line, "log ", 4) == 0) {
        size_t len = strlen(out->said);

        (void)snprintf(out->said + len, sizeof(out->said) - len, "%s\n",
                       line + 4);
    } else if (out->got < GETS &&
               sscanf(line, "get %u %d %15s %7s %7s", &g->step, &g->status,
                      g->origin, right, kept) == 5) {
        g->right = strcmp(right, "right") == 0;
        g->kept = strcmp(kept, "kept") == 0;
        out->got++;
    } else if (sscanf(line, "counts %llu %llu %llu %llu %llu", &n[0], &n[1],
                      &n[2], &n[3], &n[4]) == 5) {
        out->faults = n[0];
        out->evictions = n[1];
        out->takeovers = n[2];
        out->bundle_faults = n[3];
        out->unused = n[4];
    } else {
        out->store = out->store || strcmp(line, "store yes") == 0;
        out->ended = out->ended || strcmp(line, "end") == 0;
    }
}

void world_run(world *w, const strike *s, sight *out)
{
    const faulty_report none = {0};
    char *text = NULL;
    char *rest = NULL;
    size_t bytes = 0;
    int status = 0;

    memset(out, 0, sizeof(*out));
    file_write(w->report, &none, sizeof(none));
    ck_assert_int_gt(waitpid(start(w, s), &status, 0), 0);
    out->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    ck_assert_msg(out->signal != 0 || WEXITSTATUS(status) == EXIT_SUCCESS,
                  "the worker said %d", WEXITSTATUS(status));
    ck_assert_int_eq(groat__fs_read(w->out, MIB, &text, &bytes, NULL),
                     GROAT_OK);
    for (char *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest))
        read_line(out, line);
    free(text);
    ck_assert_int_eq(groat__fs_read(w->report, MIB, &text, &bytes, NULL),
                     GROAT_OK);
    memcpy((void *)&out->report, text, sizeof(out->report));
    free(text);
}

/* ---- what is left -------------------------------------------------------- */

static void note_line(void *user, int level, const char *line)
{
    char *said = user;
    size_t len = strlen(said);

    (void)level;
    (void)snprintf(said + len, sizeof(((found *)0)->said) - len, "%s\n", line);
}

static answer ask(groat__store *store, const known *k)
{
    groat__store_blob blob = {0};
    answer result = ANSWER_WRONG;

    if (!groat__store_get(store, &k->key, k->identity, &blob))
        return ANSWER_MISS;
    if (blob.bytes == k->bytes && memcmp(blob.data, k->data, k->bytes) == 0)
        result = ANSWER_RIGHT;
    groat__store_blob_free(&blob);
    return result;
}

/* Tells whether a key that the worker failed to get can be claimed at once. */
static bool is_claimable(groat__store *store, const known *k)
{
    groat__store_blob blob = {0};
    groat__claim claim = groat__store_claim(store, &k->key, k->identity, &blob);

    if (claim == GROAT__CLAIM_HELD)
        groat__store_release(store, &k->key);
    groat__store_blob_free(&blob);
    return claim == GROAT__CLAIM_HELD || claim == GROAT__CLAIM_FOUND;
}

static void look_at_entries(const world *w, groat__store *store, found *out)
{
    out->fillers = 0;
    for (int i = IN_STORE; i < STEPS; i++) {
        out->steps[i] = ask(store, &w->kernels[i]);
        out->wrong += out->steps[i] == ANSWER_WRONG;
    }
    for (unsigned n = 1; n <= FILLERS; n++) {
        answer is = kernel_get(store, n);

        out->fillers += is == ANSWER_RIGHT;
        out->wrong += is == ANSWER_WRONG;
    }
}

static void look(const world *w, found *out)
{
    groat__store_options options = {
        w->rig.cache, 16 * MIB, {note_line, out->said}, NULL, false};
    groat__store *store = NULL;
    groat_error error = GROAT_ERROR_INIT;

    age(w);
    out->opened = groat__store_open(&options, &store, &error) == GROAT_OK;
    if (!out->opened) {
        note_line(out->said, 0, error.text);
        return;
    }
    make_hasty(store);
    look_at_entries(w, store, out);
    out->verified =
        groat__store_verify(store, NULL, &out->dropped, &error) == GROAT_OK;
    look_at_entries(w, store, out);
    out->claims = is_claimable(store, &w->kernels[NEWER]);
    kernel_put(store, 99, 9999);
    out->takes_puts = kernel_get(store, 99) == ANSWER_RIGHT;
    groat__store_close(store);
}

static bool ends_with(const char *name, const char *end)
{
    size_t len = strlen(name);

    return len > strlen(end) && strcmp(name + len - strlen(end), end) == 0;
}

/* The store is closed: only its file and files set aside may be there. */
static void look_at_folder(const world *w, found *out)
{
    DIR *folder = opendir(w->rig.cache);
    struct dirent *item;

    ck_assert_ptr_nonnull(folder);
    while ((item = readdir(folder)) != NULL) {
        const char *name = item->d_name;

        if (name[0] == '.' || strcmp(name, GROAT__STORE_FILE) == 0)
            continue;
        if (strcmp(name, "groat.lock") == 0)
            continue;
        if (strncmp(name, "groat.sqlite.damaged-", 21) != 0)
            (void)snprintf(out->litter, sizeof(out->litter), "%s", name);
        else if (!ends_with(name, "-wal") && !ends_with(name, "-shm"))
            out->asides++;
    }
    (void)closedir(folder);
}

void world_look(world *w, found *out)
{
    found *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pid;

    ck_assert_ptr_ne(shared, MAP_FAILED);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        (void)alarm(TIME_S);
        look(w, shared);
        _exit(0);
    }
    ck_assert_msg(child_status(pid) == 0, "who looks afterwards dies");
    look_at_folder(w, shared);
    *out = *shared;
    (void)munmap(shared, sizeof(*shared));
}

/* ---- what must hold ---------------------------------------------------- */

/* The strike that is judged, for messages. */
static struct {
    char strike[300];
    const sight *did;
    const found *left;
} at;

static void broken(const char *format, ...) GROAT_PRINTF(1, 2);

static void broken(const char *format, ...)
{
    char why[1000];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(why, sizeof(why), format, args);
    va_end(args);
    ck_abort_msg("%s: %s\nsaid: %safterwards: %s", at.strike, why, at.did->said,
                 at.left->said);
}

#define MUST(holds, ...)                                                       \
    do {                                                                       \
        if (!(holds))                                                          \
            broken(__VA_ARGS__);                                               \
    } while (0)

static void name_judged(const strike *s, const sight *did, const found *left)
{
    static const char *const scenes[] = {"held", "killed", "full", "fresh",
                                         "damaged"};

    at.did = did;
    at.left = left;
    (void)snprintf(at.strike, sizeof(at.strike),
                   "%s, %s (%s store; %s %u%s %s)", s->fault, s->layer,
                   scenes[s->at], s->calls == NULL ? "-" : s->calls, s->n,
                   s->on ? "+" : "", s->deed == NULL ? "" : s->deed);
}

static const struct {
    const char *words;
    const char *tag;
} tags[] = {
    {"set aside as", "set aside"},
    {"the file was empty", "empty"},
    {"written by a newer groat", "newer schema"},
    {"kept in memory only: ", "memory only"},
    {"put failed", "put failed"},
    {"get failed", "get failed"},
    {"claiming a key failed", "claim failed"},
    {"releasing a key failed", "release failed"},
    {"verify failed", "verify failed"},
    {"dropping an entry failed", "drop failed"},
    {"is damaged; dropped", "entry dropped"},
    {"another identity than the one asked for; dropped", "entry dropped"},
    {"refused the stored binary", "refused"},
    {"read-only: new kernels", "read-only"},
    {"a bundle is not used", "not used"},
    {"not used; reported once", "entry not used"},
    {"has ended without storing it", "takeover"},
};

/* Returns the matrix's word for a log line; any other line is a failure. */
static const char *tag_of(const char *line)
{
    for (size_t i = 0; i < COUNT(tags); i++)
        if (strstr(line, tags[i].words) != NULL)
            return tags[i].tag;
    MUST(false, "no word for: %s", line);
    return NULL;
}

/* Notes what was logged, and that no line was logged twice; returns the number
 * of files that the lines report as set aside. */
static unsigned judge_lines(const strike *s, const char *said)
{
    unsigned asides = 0;
    char *text = strdup(said);
    char *rest = NULL;

    ck_assert_ptr_nonnull(text);
    for (char *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        const char *again = strstr(said, line);

        again = strstr(again + 1, line);
        MUST(again == NULL, "said twice: %s", line);
        asides += strstr(line, "set aside as") != NULL;
        matrix_note(s->fault, s->layer, MATRIX_SAID, tag_of(line));
    }
    free(text);
    return asides;
}

static bool had_store(const strike *s)
{
    return s->at != SCENE_FRESH && s->at != SCENE_DAMAGED;
}

/* Index of the first get that shows the effect on what is struck. */
static unsigned watched(const strike *s)
{
    return s->watched == 0 ? 0 : s->watched - 1;
}

/* Where each get's kernel comes from without a strike. */
static const char *origin_of(const strike *s, unsigned index)
{
    static const char *const origins[GETS] = {"disk",     "bundle",   "bundle",
                                              "compiled", "compiled", "memory"};

    return index == 0 && !had_store(s) ? "compiled" : origins[index];
}

static void judge_gets(const strike *s, const sight *did)
{
    bool lost = false;

    for (unsigned i = 0; i < did->got; i++) {
        const got *g = &did->gets[i];

        MUST(g->status == GROAT_OK, "no kernel for step %u", g->step);
        MUST(g->right, "a wrong kernel for step %u", g->step);
        lost = lost || (strcmp(g->origin, "compiled") == 0 &&
                        (strcmp(origin_of(s, i), "compiled") != 0 || !g->kept));
        MUST(i != GETS - 1 || strcmp(g->origin, "memory") == 0,
             "the second get of step %u is not from memory", g->step);
        MUST(i != watched(s) || !s->useless ||
                 strcmp(g->origin, "compiled") == 0,
             "step %u is taken from %s", g->step, g->origin);
        if (i == watched(s) && (i != IN_STORE - 1 || had_store(s)))
            matrix_note(s->fault, s->layer, MATRIX_KEPT, g->origin);
        if ((i == NEW - 1 || i == NEWER - 1) && i != watched(s))
            matrix_note(s->fault, s->layer, MATRIX_NEW,
                        g->kept ? "compiled, kept" : "compiled");
    }
    lost = lost && !s->silent;
    MUST(!lost || did->said[0] != '\0', "a loss that nobody told");
    MUST(!lost ||
             did->faults + did->evictions + did->bundle_faults + did->unused >
                 0 ||
             strstr(did->said, "read-only") != NULL,
         "a loss that nobody counted");
}

static void judge_rest(const strike *s, const sight *did, const found *left)
{
    bool all = left->steps[IN_STORE] == ANSWER_RIGHT &&
               (left->fillers == FILLERS || s->at == SCENE_FULL);

    MUST(left->opened, "cannot be opened");
    MUST(left->wrong == 0, "%u wrong entries", left->wrong);
    MUST(left->verified, "verify fails");
    MUST(left->takes_puts, "takes no puts");
    MUST(left->claims, "a key cannot be claimed");
    MUST(left->litter[0] == '\0', "%s is left", left->litter);
    for (unsigned i = 0; i < did->got; i++)
        MUST(!did->gets[i].kept || s->damages ||
                 left->steps[did->gets[i].step] == ANSWER_RIGHT,
             "step %u was kept and is lost", did->gets[i].step);
    if (had_store(s) && !s->damages) {
        MUST(all, "lost what was there: step 1 %d, %u of %d fillers",
             left->steps[IN_STORE], left->fillers, FILLERS);
        MUST(left->dropped == 0, "entries are damaged");
        MUST(left->asides == 0, "it is set aside");
    }
    if (left->asides > 0)
        matrix_note(s->fault, s->layer, MATRIX_AFTER, "the file set aside");
    else if (had_store(s))
        matrix_note(s->fault, s->layer, MATRIX_AFTER,
                    all ? "all" : "all but what was struck");
    else
        matrix_note(s->fault, s->layer, MATRIX_AFTER, "all that was kept");
}

static void note_counts(const strike *s, const sight *did)
{
    const struct {
        uint64_t count;
        const char *name;
    } counts[] = {{did->faults, "faults"},
                  {s->at == SCENE_FULL ? 0 : did->evictions, "evictions"},
                  {did->takeovers, "takeovers"},
                  {did->bundle_faults, "bundle faults"},
                  {did->unused, "not opened"}};

    for (size_t i = 0; i < COUNT(counts); i++)
        if (counts[i].count > 0)
            matrix_note(s->fault, s->layer, MATRIX_COUNTED, counts[i].name);
}

void world_judge(const strike *s, const sight *did, const found *left)
{
    bool kills = s->deed != NULL && strncmp(s->deed, "kill", 4) == 0;
    unsigned asides;

    name_judged(s, did, left);
    MUST(did->signal != SIGALRM, "hangs");
    MUST(atomic_load(&did->report.naps) < WAITS_US, "waits for %llu us",
         atomic_load(&did->report.naps));
    MUST(did->signal == (kills ? SIGKILL : 0), "dies of signal %d",
         did->signal);
    MUST(kills || did->ended, "does not come to its end");
    MUST(kills || did->got == GETS, "%u answers", did->got);
    judge_gets(s, did);
    asides = judge_lines(s, did->said) + judge_lines(s, left->said);
    if (!kills)
        MUST(asides == left->asides, "%u files set aside, %u said",
             left->asides, asides);
    MUST(left->asides <= 1, "%u files set aside", left->asides);
    if (s->refused) {
        MUST(!left->opened && left->asides == 0 && left->litter[0] == '\0',
             "it is not left alone");
        matrix_note(s->fault, s->layer, MATRIX_AFTER, "the file as it was");
    } else {
        judge_rest(s, did, left);
    }
    if (!kills)
        note_counts(s, did);
}

static void end_rival(pid_t pid)
{
    if (pid == 0)
        return;
    (void)kill(pid, SIGKILL);
    (void)child_status(pid);
}

bool world_strike(world *w, const strike *s)
{
    pid_t rival = 0;
    sight did;
    found left;

    world_set(w, s->at);
    if (s->hurt != NULL)
        s->hurt(w, s->arg);
    if (s->rival != NULL)
        rival = s->rival(w);
    world_run(w, s, &did);
    end_rival(rival);
    if ((s->n != 0 && atomic_load(&did.report.fired) == 0) ||
        (s->clock != NULL && atomic_load(&did.report.moved) == 0))
        return false;
    if (s->mend != NULL)
        s->mend(w);
    world_look(w, &left);
    matrix_count(s->fault, s->layer);
    world_judge(s, &did, &left);
    return true;
}
