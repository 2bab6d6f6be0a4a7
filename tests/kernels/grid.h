/* SPDX-License-Identifier: Apache-2.0
 *
 * grid.h - specs of a family, drawn from its params.def through the public
 * API.
 *
 * A grid knows every value of each parameter, or a sample of a long range.
 * grid_next() makes specs until each value was in one that the rules accept;
 * the spec's other parameters are found by search.  grid_random() draws by
 * rejection.  All choices follow from the seed, which the test prints.
 *
 * The search climbs: where the rules refuse a spec, the error names the first
 * rule that it breaks, and a change that gets further down the list is kept.
 */
#ifndef GROAT_TEST_GRID_H
#define GROAT_TEST_GRID_H

#include "tests/unit/suite.h"
#include "groat_tools.h"

enum {
    GRID_PARAMS = 48,
    GRID_LONG = 64,   /* of a longer range only a sample is used      */
    GRID_SPREAD = 16, /* size of the sample, with both ends           */
    GRID_TEXT = 2048,
    GRID_TRIES = 8000,
    GRID_STUCK = 300, /* changes without progress before a new start  */
    GRID_CANDIDATES = 4,
    GRID_DEFAULT = -1 /* in a choice: the parameter is not named      */
};

typedef struct grid_value {
    char text[32]; /* as a spec spells it */
    bool ran;
    char *refused; /* why no spec was found for it, or NULL */
} grid_value;

typedef struct grid_param {
    const char *name;
    grid_value *values;
    size_t count;
    long long most; /* values of a range; a longer one is sampled */
    bool spread;    /* values are a sample */
} grid_param;

typedef struct grid {
    groat_context *context;
    const groat_family *family;
    bool (*fits)(groat_spec *); /* a limit besides the rules, or NULL */
    grid_param param[GRID_PARAMS];
    size_t count;
    uint64_t state; /* of the random numbers */
    size_t specs;   /* number of grid_ran() calls */
} grid;

/* For each parameter, an index into its values or GRID_DEFAULT. */
typedef struct grid_choice {
    int at[GRID_PARAMS];
} grid_choice;

static inline size_t grid_pick(grid *g, size_t below)
{
    return (size_t)(next_random(&g->state) % below);
}

/* ---- the values -------------------------------------------------------- */

static inline void grid_add(grid_param *p, const char *text, size_t len)
{
    p->values = realloc(p->values, (p->count + 1) * sizeof(p->values[0]));
    ck_assert_ptr_nonnull(p->values);
    p->values[p->count] = (grid_value){.ran = false};
    ck_assert_uint_lt(len, sizeof(p->values[0].text));
    memcpy(p->values[p->count].text, text, len);
    p->values[p->count].text[len] = '\0';
    p->count++;
}

/* Adds the default as the only value, quoted as in a spec's text. */
static inline void grid_add_code(grid_param *p, const char *deflt)
{
    char text[32];
    int len = snprintf(text, sizeof(text), "\"%s\"", deflt);

    grid_add(p, text, (size_t)len);
}

/* Adds the ints of an item "7" or "8..512/8". */
static inline void grid_add_range(grid_param *p, const char *item)
{
    char *end;
    long long low = strtoll(item, &end, 10);
    long long high = low;
    long long step = 1;
    long long count;
    long long sample;

    if (strncmp(end, "..", 2) == 0)
        high = strtoll(end + 2, &end, 10);
    if (*end == '/')
        step = strtoll(end + 1, &end, 10);
    ck_assert_msg(step > 0 && (*end == '|' || *end == '\0'),
                  "%s is allowed '%s': no range", p->name, item);
    count = (high - low) / step + 1;
    p->spread = p->spread || count > p->most;
    sample = count <= p->most        ? count
             : p->most < GRID_SPREAD ? p->most
                                     : GRID_SPREAD;
    for (long long i = 0; i < sample; i++) {
        long long at = sample < count ? i * (count - 1) / (sample - 1) : i;
        char text[32];

        (void)snprintf(text, sizeof(text), "%lld", low + at * step);
        grid_add(p, text, strlen(text));
    }
}

/* Adds all values of `allowed`: items between "|"; for "name=2" the name. */
static inline void grid_add_allowed(grid_param *p, groat_param_type type,
                                    const char *allowed)
{
    for (const char *item = allowed; *item != '\0';) {
        size_t len = strcspn(item, "|");

        if (type == GROAT_PARAM_INT)
            grid_add_range(p, item);
        else
            grid_add(p, item, strcspn(item, "=|"));
        item += len + (item[len] == '|');
    }
    ck_assert_msg(p->count > 0, "%s is allowed no value", p->name);
}

/* Opens a grid in which a range has at most so many values, 2 or more. */
static inline void grid_open_some(grid *g, groat_context *context,
                                  const char *family, uint64_t seed,
                                  long long most)
{
    memset(g, 0, sizeof(*g));
    g->context = context;
    g->family = groat_family_find(context, family);
    g->state = seed;
    ck_assert_ptr_nonnull(g->family);
    g->count = groat_family_param_count(g->family);
    ck_assert_uint_le(g->count, GRID_PARAMS);
    for (size_t i = 0; i < g->count; i++) {
        groat_param_info info = {.size = sizeof(info)};

        ck_assert_int_eq(groat_family_param(g->family, i, &info, NULL),
                         GROAT_OK);
        g->param[i].name = info.name;
        g->param[i].most = most;
        if (info.type == GROAT_PARAM_CODE)
            grid_add_code(&g->param[i], info.deflt);
        else
            grid_add_allowed(&g->param[i], info.type, info.allowed);
    }
}

static inline void grid_open(grid *g, groat_context *context,
                             const char *family, uint64_t seed)
{
    grid_open_some(g, context, family, seed, GRID_LONG);
}

static inline void grid_close(grid *g)
{
    for (size_t i = 0; i < g->count; i++) {
        for (size_t k = 0; k < g->param[i].count; k++)
            free(g->param[i].values[k].refused);
        free(g->param[i].values);
    }
    g->count = 0;
}

/* ---- one choice -------------------------------------------------------- */

static inline void grid_text(const grid *g, const grid_choice *c,
                             char out[GRID_TEXT])
{
    size_t len =
        (size_t)snprintf(out, GRID_TEXT, "%s", groat_family_name(g->family));
    char lead = ':';

    for (size_t i = 0; i < g->count; i++) {
        if (c->at[i] == GRID_DEFAULT)
            continue;
        len += (size_t)snprintf(out + len, GRID_TEXT - len, "%c%s=%s", lead,
                                g->param[i].name,
                                g->param[i].values[c->at[i]].text);
        if (len >= GRID_TEXT)
            ck_abort_msg("a spec of %zu characters", len);
        lead = ',';
    }
}

/* Returns how many rules hold before the broken one that `text` names. */
static inline size_t grid_score(const grid *g, const char *text)
{
    static const char before[] = "breaks the rule '";
    size_t count = groat_family_rule_count(g->family);
    const char *broken = strstr(text, before);
    const char *rule;
    const char *reason;

    for (size_t i = 0; i < count && broken != NULL; i++) {
        if (groat_family_rule(g->family, i, &rule, &reason, NULL) != GROAT_OK)
            break;
        if (strncmp(broken + strlen(before), rule, strlen(rule)) == 0)
            return i;
    }
    return 0;
}

/* Returns the spec of a choice; or NULL with its score and the error. */
static inline groat_spec *grid_try(const grid *g, const grid_choice *c,
                                   const char *target, size_t *score,
                                   groat_error *error)
{
    groat_spec *spec = NULL;
    char text[GRID_TEXT];

    grid_text(g, c, text);
    if (groat_spec_parse(g->context, text, target, &spec, error) != GROAT_OK) {
        if (error->status != GROAT_INVALID) /* ck_assert is too slow here */
            ck_abort_msg("%s on %s: %s", text, target, error->text);
        *score = grid_score(g, error->text);
        return NULL;
    }
    if (g->fits == NULL || g->fits(spec))
        return spec;
    *score = groat_family_rule_count(g->family);
    (void)snprintf(error->text, sizeof(error->text),
                   "%.600s is larger than the test wants", text);
    groat_spec_free(spec);
    return NULL;
}

static inline bool grid_is_pending(const grid_value *v)
{
    return !v->ran && v->refused == NULL;
}

/* Returns another value for one parameter: its default, a pending one, or
 * any. */
static inline int grid_draw(grid *g, size_t param)
{
    const grid_param *p = &g->param[param];
    size_t from;

    if (grid_pick(g, 2) == 0)
        return GRID_DEFAULT;
    from = grid_pick(g, p->count);
    for (size_t k = 0; k < p->count && grid_pick(g, 4) != 0; k++)
        if (grid_is_pending(&p->values[(from + k) % p->count]))
            return (int)((from + k) % p->count);
    return (int)from;
}

/* Draws `most` of the parameters anew, with g->count all of them. */
static inline void grid_change(grid *g, grid_choice *c, size_t most)
{
    for (size_t n = 0; n < most; n++) {
        size_t i = most == g->count ? n : grid_pick(g, g->count);

        c->at[i] = grid_draw(g, i);
    }
}

/* Returns a legal spec in which `param` has its `value`-th value, with its
 * choice in c; or NULL when the search finds none, with the error of the spec
 * that got furthest down the list of rules. */
static inline groat_spec *grid_find(grid *g, const char *target, size_t param,
                                    size_t value, grid_choice *c,
                                    groat_error *reason)
{
    groat_error error = GROAT_ERROR_INIT;
    size_t most = 0;
    size_t best = 0;
    int stuck = GRID_STUCK;

    for (int tries = 0; tries < GRID_TRIES; tries++) {
        bool anew = stuck == GRID_STUCK;
        grid_choice next = *c;
        size_t score = 0;
        groat_spec *spec;

        grid_change(g, &next, anew ? g->count : 1 + grid_pick(g, 3));
        next.at[param] = (int)value;
        spec = grid_try(g, &next, target, &score, &error);
        if (spec == NULL && score >= most) {
            most = score;
            memcpy(reason->text, error.text, sizeof(error.text));
        }
        stuck = spec != NULL || anew || score > best ? 0 : stuck + 1;
        if (spec != NULL || anew || score >= best) {
            best = score;
            *c = next;
        }
        if (spec != NULL)
            return spec;
    }
    return NULL;
}

/* ---- the values of a spec ---------------------------------------------- */

/* Counts the pending values of the spec; with mark, records that they ran. */
static inline size_t grid_count(grid *g, groat_spec *spec, bool mark)
{
    const char *text = groat_spec_text(spec);
    size_t pending = 0;

    for (size_t i = 0; i < g->count; i++)
        for (size_t k = 0; k < g->param[i].count; k++) {
            grid_value *v = &g->param[i].values[k];
            char item[128];
            const char *at;
            size_t len = (size_t)snprintf(item, sizeof(item), "%s=%s",
                                          g->param[i].name, v->text);

            for (at = strstr(text, item); at != NULL; at = strstr(at + 1, item))
                if (strchr(":,", at[-1]) != NULL &&
                    (at[len] == ',' || at[len] == '\0'))
                    break;
            if (at == NULL)
                continue;
            pending += grid_is_pending(v);
            v->ran = v->ran || mark;
        }
    return pending;
}

/* Records that the spec ran and was right. */
static inline void grid_ran(grid *g, groat_spec *spec)
{
    (void)grid_count(g, spec, true);
    g->specs++;
}

/* ---- the walk over all values ------------------------------------------ */

/* Adds further pending values to a legal choice, one by one. */
static inline groat_spec *grid_pack(grid *g, const char *target, size_t param,
                                    grid_choice *c, groat_spec *spec)
{
    groat_error error = GROAT_ERROR_INIT;
    size_t had = grid_count(g, spec, false);

    for (size_t i = 0; i < g->count; i++)
        for (size_t k = 0; k < g->param[i].count && i != param; k++) {
            grid_choice next = *c;
            groat_spec *other;
            size_t score;
            size_t has;

            if (!grid_is_pending(&g->param[i].values[k]))
                continue;
            next.at[i] = (int)k;
            other = grid_try(g, &next, target, &score, &error);
            has = other == NULL ? 0 : grid_count(g, other, false);
            if (has > had) {
                groat_spec_free(spec);
                spec = other;
                had = has;
                *c = next;
            } else
                groat_spec_free(other);
        }
    groat_error_clear(&error);
    return spec;
}

/* Finds the parameter with the most pending values, and the first of them;
 * returns false when no value is pending. */
static inline bool grid_pending(const grid *g, size_t *param, size_t *value)
{
    size_t most = 0;

    for (size_t i = 0; i < g->count; i++) {
        size_t first = 0;
        size_t count = 0;

        for (size_t k = g->param[i].count; k-- > 0;)
            if (grid_is_pending(&g->param[i].values[k])) {
                first = k;
                count++;
            }
        if (count > most) {
            most = count;
            *param = i;
            *value = first;
        }
    }
    return most > 0;
}

/* Returns a legal spec with as many pending values as the search finds, for the
 * first of `targets` (in turn) that has one; NULL when no value is pending.
 * The caller runs it, calls grid_ran() and frees it. */
static inline groat_spec *grid_next(grid *g, const char *const *targets,
                                    size_t target_count)
{
    groat_error error = GROAT_ERROR_INIT;
    size_t param;
    size_t value;

    while (grid_pending(g, &param, &value)) {
        groat_spec *best = NULL;

        for (size_t t = 0; t < target_count && best == NULL; t++) {
            const char *target = targets[(g->specs + t) % target_count];

            for (int n = 0; n < GRID_CANDIDATES; n++) {
                grid_choice c = {{0}};
                groat_spec *spec =
                    grid_find(g, target, param, value, &c, &error);

                if (spec == NULL)
                    break;
                spec = grid_pack(g, target, param, &c, spec);
                if (best == NULL ||
                    grid_count(g, spec, false) > grid_count(g, best, false)) {
                    groat_spec_free(best);
                    best = spec;
                } else
                    groat_spec_free(spec);
            }
        }
        if (best != NULL) {
            groat_error_clear(&error);
            return best;
        }
        g->param[param].values[value].refused = strdup(error.text);
        ck_assert_ptr_nonnull(g->param[param].values[value].refused);
    }
    groat_error_clear(&error);
    return NULL;
}

/* Draws a legal spec by rejection: each parameter has its default or, as
 * likely, any value; free it.  rejected counts the refused draws. */
static inline groat_spec *grid_random(grid *g, const char *target,
                                      size_t *rejected)
{
    groat_error error = GROAT_ERROR_INIT;
    groat_spec *spec = NULL;

    for (int tries = 0; spec == NULL; tries++) {
        grid_choice c;
        size_t score;

        if (tries == 1000000)
            ck_abort_msg("no legal spec for %s: %s", target, error.text);
        for (size_t i = 0; i < g->count; i++)
            c.at[i] = grid_pick(g, 2) == 0
                          ? GRID_DEFAULT
                          : (int)grid_pick(g, g->param[i].count);
        spec = grid_try(g, &c, target, &score, &error);
        *rejected += spec == NULL;
    }
    groat_error_clear(&error);
    return spec;
}

/* Prints the totals and every value that never ran; returns their number. */
static inline size_t grid_report(const grid *g)
{
    size_t total = 0;
    size_t missing = 0;
    size_t spread = 0;

    for (size_t i = 0; i < g->count; i++) {
        const grid_param *p = &g->param[i];

        total += p->count;
        spread += p->spread;
        for (size_t k = 0; k < p->count; k++) {
            if (p->values[k].ran)
                continue;
            missing++;
            (void)printf("never ran: %s=%s: %s\n", p->name, p->values[k].text,
                         p->values[k].refused ? p->values[k].refused
                                              : "it was not tried");
        }
    }
    (void)printf("%s: %zu of %zu values of %zu parameters ran in %zu specs, "
                 "%zu never; %zu long ranges by a spread\n",
                 groat_family_name(g->family), total - missing, total, g->count,
                 g->specs, missing, spread);
    (void)fflush(stdout);
    return missing;
}

/* ---- running specs ------------------------------------------------------ */

/* Runs a spec; returns the number of launches. */
typedef size_t grid_run(groat_spec *spec, void *user);

/* Runs every value of every parameter, targets in turn; returns launches. */
static inline size_t grid_run_values(grid *g, const char *const *targets,
                                     size_t count, grid_run *run, void *user)
{
    size_t launches = 0;
    groat_spec *spec;

    while ((spec = grid_next(g, targets, count)) != NULL) {
        launches += run(spec, user);
        grid_ran(g, spec);
        groat_spec_free(spec);
    }
    (void)printf("%zu launches\n", launches);
    return launches;
}

/* Runs `specs` random specs, each on a random target. */
static inline void grid_run_random(grid *g, const char *const *targets,
                                   size_t count, uint64_t specs, grid_run *run,
                                   void *user)
{
    size_t rejected = 0;
    size_t launches = 0;

    for (uint64_t n = 0; n < specs; n++) {
        groat_spec *spec =
            grid_random(g, targets[grid_pick(g, count)], &rejected);

        launches += run(spec, user);
        groat_spec_free(spec);
    }
    (void)printf("%s: %llu random specs, %zu launches, %zu draws rejected\n",
                 groat_family_name(g->family), (unsigned long long)specs,
                 launches, rejected);
    (void)fflush(stdout);
}

#endif
