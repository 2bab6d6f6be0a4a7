/* SPDX-License-Identifier: Apache-2.0
 *
 * places.c - adds source lines and buffer elements to findings: the library
 * knows files, lines and addresses; the tool knows the source and the buffers.
 */
#include "cli/run/places.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels-src/driver/element.h"

/* ---- lines -----------------------------------------------------------------
 */

/* Finds a line of a file in a source with #line directives; returns its text
 * without leading blanks, and its length, or NULL. */
static const char *find_line(const char *source, const char *file,
                             size_t file_len, long wanted, size_t *len)
{
    bool inside = false;
    long number = 0;

    for (const char *at = source; *at;
         at += strcspn(at, "\n"), at += *at != 0) {
        char *end = NULL;

        if (strncmp(at, "#line ", 6) == 0) {
            number = strtol(at + 6, &end, 10);
            inside = strncmp(end, " \"", 2) == 0 &&
                     strncmp(end + 2, file, file_len) == 0 &&
                     end[2 + file_len] == '"';
            continue;
        }
        if (inside && number == wanted) {
            at += strspn(at, " \t");
            *len = strcspn(at, "\r\n");
            return at;
        }
        number++;
    }
    return NULL;
}

/* Copies log, with the source line's text below each "  file:line in ...", of
 * `quoted` or, for lines that this has not, of source. */
static void add_sources(const char *quoted, const char *source, const char *log,
                        groat__str *out)
{
    for (const char *at = log; *at; at += strcspn(at, "\n"), at += *at != 0) {
        size_t len = strcspn(at, "\n");
        const char *colon = memchr(at, ':', len);
        const char *text = NULL;
        size_t text_len = 0;
        size_t file_len;
        long line;

        groat__str_addn(out, at, len);
        groat__str_add(out, "\n");
        if (strncmp(at, "  ", 2) != 0 || !colon)
            continue;
        file_len = (size_t)(colon - at - 2);
        line = strtol(colon + 1, NULL, 10);
        if (quoted)
            text = find_line(quoted, at + 2, file_len, line, &text_len);
        if (!text)
            text = find_line(source, at + 2, file_len, line, &text_len);
        if (text)
            groat__str_addf(out, "      | %.*s\n", (int)text_len, text);
    }
}

/* ---- buffers ----------------------------------------------------------------
 */

static uint64_t gap(uint64_t address, uint64_t start, uint64_t bytes)
{
    if (address < start)
        return start - address;
    return address - start >= bytes ? address - start - bytes : 0;
}

static void add_shape(const groat_buffer *buffer, groat__str *out)
{
    groat__str_addf(out, "%s[", buffer->name);
    for (size_t k = 0; buffer->element && k < buffer->rank; k++)
        groat__str_addf(out, "%s%" PRId64, k ? ", " : "", buffer->shape[k]);
    if (!buffer->element)
        groat__str_addf(out, "%zu", buffer->bytes);
    groat__str_add(out, "]");
}

/* Appends "y[3, 1020] of y[4, 1024]", "y[4, 0], 1 element past the end of
 * y[4, 1024]", or the distance in front of it. */
static void add_element(const groat_buffer *buffer, uint64_t start,
                        uint64_t address, groat__str *out)
{
    uint64_t width = buffer->element ? (uint64_t)buffer->element->bytes : 1;
    uint64_t far = gap(address, start, buffer->bytes);
    char place[160];

    if (address >= start && address - start < buffer->bytes) {
        groat__compare_place(buffer, address - start, place, sizeof(place));
        groat__str_addf(out, "%s of ", place);
        add_shape(buffer, out);
        return;
    }
    if (address >= start) {
        groat__compare_place(buffer, address - start, place, sizeof(place));
        groat__str_addf(out, "%s, ", place);
    }
    far = far / width + (address >= start);
    groat__str_addf(out, "%" PRIu64 " %s %s ", far,
                    far == 1 ? "element" : "elements",
                    address < start ? "in front of" : "past the end of");
    add_shape(buffer, out);
}

/* Finds the buffer that a finding's address is in or next to. */
static void find_buffer(groat__trial *trial, const char *text)
{
    static const char words[] = "device address 0x";
    const char *at = strstr(text, words);
    const groat_plan *plan = &trial->plan;
    groat__str place = {0};
    size_t near = 0;
    uint64_t address;

    trial->near = NULL;
    if (!at || !plan->buffer_count)
        return;
    address = strtoull(at + sizeof(words) - 1, NULL, 16);
    for (size_t i = 1; i < plan->buffer_count; i++)
        if (gap(address, trial->address[i], plan->buffers[i].bytes) <
            gap(address, trial->address[near], plan->buffers[near].bytes))
            near = i;
    add_element(&plan->buffers[near], trial->address[near], address, &place);
    if (!place.failed) {
        trial->near = plan->buffers[near].name;
        (void)snprintf(trial->near_place, sizeof(trial->near_place), "%s",
                       place.data);
    }
    groat__str_free(&place);
}

void groat__places_tell(const groat__cli *cli, groat__trial *trial,
                        groat_error *error)
{
    groat__str log = {0};
    char *source = NULL;
    size_t len;

    if (!error)
        return;
    find_buffer(trial, error->text);
    len = strlen(error->text);
    if (trial->near)
        (void)snprintf(error->text + len, sizeof(error->text) - len,
                       "; that is %s", trial->near_place);
    if (error->log && groat_spec_source(trial->spec, &source, NULL) == GROAT_OK)
        add_sources(cli->quoted, source, error->log, &log);
    if (log.len && !log.failed) {
        groat_free(error->log);
        error->log = groat__str_take(&log);
    }
    groat__str_free(&log);
    groat_free(source);
}

/* ---- JSON ------------------------------------------------------------------
 */

/* Writes a call, "FILE:LINE in FUNCTION", which is modified, and the text of
 * that line, or NULL. */
static void call_json(groat__json *json, char *call, const char *text)
{
    char *in = strstr(call, " in ");
    char *colon;

    if (in)
        *in = '\0';
    colon = strrchr(call, ':');
    if (!colon)
        return;
    *colon = '\0';
    groat__json_object(json, NULL);
    groat__json_string(json, "file", call);
    groat__json_int(json, "line", strtol(colon + 1, NULL, 10));
    groat__json_string(json, "function", in ? in + 4 : NULL);
    groat__json_string(json, "text", text);
    groat__json_end(json);
}

/* Writes the places of a log, which is modified: "WHAT:", then its calls, each
 * with the text of its line. */
static void places_json(groat__json *json, char *log)
{
    static const char lead[] = "      | ";
    bool open = false;
    char *rest = log;

    for (char *line = strtok_r(log, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        char *text = NULL;

        if (*line != ' ') {
            if (open) {
                groat__json_end(json);
                groat__json_end(json);
            }
            line[strcspn(line, ":")] = '\0';
            groat__json_object(json, NULL);
            groat__json_string(json, "what", line);
            groat__json_array(json, "calls");
            open = true;
        } else if (open && strncmp(line, "  ", 2) == 0) {
            if (strncmp(rest, lead, strlen(lead)) == 0)
                text = strtok_r(NULL, "\n", &rest) + strlen(lead);
            call_json(json, line + 2, text);
        }
    }
    if (open) {
        groat__json_end(json);
        groat__json_end(json);
    }
}

void groat__places_json(groat__json *json, const groat__trial *trial,
                        const groat_error *error)
{
    char *log;

    if (error->status != GROAT_JUDGED) {
        groat__json_null(json, "finding");
        return;
    }
    groat__json_object(json, "finding");
    groat__json_string(json, "buffer", trial->near);
    groat__json_string(json, "place", trial->near ? trial->near_place : NULL);
    groat__json_array(json, "places");
    log = error->log ? strdup(error->log) : NULL;
    if (log)
        places_json(json, log);
    free(log);
    groat__json_end(json);
    groat__json_end(json);
}
