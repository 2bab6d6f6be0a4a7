/* SPDX-License-Identifier: Apache-2.0
 *
 * manifest.c reads a line of a manifest, the list of kernels that a server will
 * want.
 *
 * Invariant: what a line does not say is not guessed, and what it says twice,
 * or in a word that is not known, is refused: a slip would be missed.
 */
#include "spec/manifest.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"

/* The members of a line, in the order of their names. */
enum { SPEC, TARGET, TARGETS, NOTE, MEMBERS };
static const char *const names[MEMBERS] = {"spec", "target", "targets", "note"};

/* A line as it is read. */
typedef struct reading {
    groat__json_in in;
    groat__manifest_line *out;
    const char
        *problem; /* that it is JSON and says something wrong: the first */
    bool seen[MEMBERS];
} reading;

static void note_problem(reading *r, const char *what)
{
    if (r->problem == NULL)
        r->problem = what;
}

static int member_of(const char *name)
{
    int i = 0;

    while (i < MEMBERS && strcmp(names[i], name) != 0)
        i++;
    return i;
}

/* A string, or a problem. */
static bool read_text(reading *r, groat__str *out, const char *problem)
{
    if (groat__json_in_peek(&r->in) == '"')
        return groat__json_in_string(&r->in, out);
    note_problem(r, problem);
    return groat__json_in_skip(&r->in);
}

static bool read_target(reading *r, const char *problem)
{
    groat__str *all = &r->out->targets;

    groat__str_clear(&r->out->scratch);
    if (!read_text(r, &r->out->scratch, problem))
        return false;
    if (r->out->scratch.data != NULL)
        groat__str_addn(all, r->out->scratch.data, r->out->scratch.len + 1);
    r->out->target_count++;
    return true;
}

static bool read_targets(reading *r)
{
    static const char problem[] =
        "\"targets\" is not a list of one target or more";
    bool first = true;

    if (groat__json_in_peek(&r->in) != '[') {
        note_problem(r, problem);
        return groat__json_in_skip(&r->in);
    }
    if (!groat__json_in_open(&r->in, '['))
        return false;
    while (groat__json_in_more(&r->in, ']', &first))
        if (!read_target(r, "a target in \"targets\" is no text"))
            return false;
    if (r->out->target_count == 0)
        note_problem(r, problem);
    return r->in.why == NULL;
}

static bool read_member(reading *r, int member)
{
    if (r->seen[member])
        note_problem(r, "it has a member twice");
    r->seen[member] = true;
    switch (member) {
    case SPEC:
        return read_text(r, &r->out->spec, "\"spec\" is no text");
    case TARGET:
        return read_target(r, "\"target\" is no text");
    case TARGETS:
        return read_targets(r);
    default:
        return groat__json_in_skip(&r->in);
    }
}

/* False with a stranger's name in scratch, or where it is not JSON. */
static bool read_members(reading *r, bool *stranger)
{
    bool first = true;

    if (!groat__json_in_open(&r->in, '{'))
        return false;
    while (groat__json_in_more(&r->in, '}', &first)) {
        int member;

        if (!groat__json_in_name(&r->in, &r->out->scratch) ||
            r->out->scratch.failed)
            return false;
        member = member_of(r->out->scratch.data);
        *stranger = member == MEMBERS;
        if (*stranger || !read_member(r, member))
            return false;
    }
    return groat__json_in_end(&r->in);
}

static const char *problem_of(const reading *r)
{
    if (r->problem != NULL)
        return r->problem;
    if (!r->seen[SPEC])
        return "\"spec\" is missing";
    return r->seen[TARGET] && r->seen[TARGETS]
               ? "it has both \"target\" and \"targets\""
               : NULL;
}

groat_status groat__manifest_parse(const char *text, groat__manifest_line *out,
                                   groat_error *error)
{
    reading r = {.out = out};
    bool stranger = false;
    bool is_object;

    groat__str_clear(&out->spec);
    groat__str_clear(&out->targets);
    out->target_count = 0;
    groat__json_in_start(&r.in, text);
    is_object = groat__json_in_peek(&r.in) == '{';
    if (is_object)
        (void)read_members(&r, &stranger);
    else if (groat__json_in_skip(&r.in))
        (void)groat__json_in_end(&r.in);
    if (out->spec.failed || out->targets.failed || out->scratch.failed)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a manifest");
    if (stranger)
        return groat__fail(error, GROAT_INVALID,
                           "\"%.64s\" is not known; allowed: spec, target, "
                           "targets, note",
                           out->scratch.data);
    if (r.in.why != NULL)
        return groat__fail(error, GROAT_INVALID,
                           "it is not JSON: %s, column %zu", r.in.why,
                           groat__json_in_column(&r.in));
    if (!is_object)
        return groat__fail(error, GROAT_INVALID, "it is not a JSON object");
    return problem_of(&r) == NULL
               ? GROAT_OK
               : groat__fail(error, GROAT_INVALID, "%s", problem_of(&r));
}

void groat__manifest_line_free(groat__manifest_line *line)
{
    groat__str_free(&line->spec);
    groat__str_free(&line->targets);
    groat__str_free(&line->scratch);
}
