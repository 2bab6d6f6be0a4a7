/* SPDX-License-Identifier: Apache-2.0
 *
 * opt.c - parses a command's arguments by its option table.
 *
 * Owns the syntax: --name VALUE, --name=VALUE, flags, "--" before words that
 * start with a dash, and the run-time arguments of the drivers.  commands.c
 * lists the options; the commands give them their meaning.
 * Invariant: values are checked for form and range here, so that no command
 * sees a number outside its row.
 */
#include "base/near.h"
#include "cli/tool/cmd.h"
#include "kernels-src/driver/driver.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_LEN = 64 };

/* "valid-rows" and "valid_rows" are the same name. */
static bool same_char(char typed, char known)
{
    return typed == known || (typed == '-' && known == '_');
}

static bool same_name(const char *typed, const char *name)
{
    while (*typed && same_char(*typed, *name))
        typed++, name++;
    return *typed == *name;
}

static const groat_driver_arg *driver_arg_find(const char *typed)
{
    const groat_driver *driver;

    for (size_t i = 0; (driver = groat_drivers[i]); i++)
        for (const groat_driver_arg *arg = driver->args; arg->name; arg++)
            if (same_name(typed, arg->name))
                return arg;
    return NULL;
}

static const groat__option *option_find(const groat__command *command,
                                        const char *name)
{
    for (const groat__option *at = command->options; at->name; at++)
        if (strcmp(at->name, name) == 0)
            return at;
    return NULL;
}

void groat__opt_spell(const char *name, char out[GROAT__NAME_ROOM])
{
    size_t i = 0;

    for (; name[i] && i + 1 < GROAT__NAME_ROOM; i++)
        out[i] = name[i];
    out[i] = '\0';
    for (i = 0; out[i]; i++)
        if (out[i] == '_')
            out[i] = '-';
}

static int unknown_option(groat__cli *cli, const char *name)
{
    const groat__command *command = cli->command;
    const groat_driver *driver;
    char spelled[GROAT__NAME_ROOM];
    char hints[256] = "";
    groat__near near;
    int len = 0;

    groat__near_start(&near, name, strlen(name));
    for (const groat__option *at = command->options; at->name; at++)
        groat__near_try(&near, at->name, strlen(at->name));
    for (size_t i = 0; command->driver_args && (driver = groat_drivers[i]); i++)
        for (const groat_driver_arg *arg = driver->args; arg->name; arg++)
            groat__near_try(&near, arg->name, strlen(arg->name));
    if (near.found) {
        groat__opt_spell(near.found, spelled);
        len = snprintf(hints, sizeof(hints), "; did you mean --%s?", spelled);
    }
    if (command->driver_args)
        (void)snprintf(hints + len, sizeof(hints) - (size_t)len,
                       "%s family of one's own takes --arg %.64s=VALUE",
                       len > 0 ? "  A" : "; a", name);
    return groat__cli_refuse(cli, GROAT_INVALID,
                             "%s has no option --%.64s%s; see groat help %s",
                             command->name, name, hints, command->name);
}

/* Parses decimal or 0x digits and nothing else, but a K, M or G if `units`. */
static bool read_count(const char *text, bool units, uint64_t *out)
{
    bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    const char *digits = hex ? text + 2 : text;
    const char *unit;
    char *end;
    unsigned shift = 0;

    if (!(*digits >= '0' && *digits <= '9') &&
        !(hex && strchr("abcdefABCDEF", *digits) && *digits))
        return false;
    if (hex && (digits[1] == 'x' || digits[1] == 'X'))
        return false; /* strtoull() would accept a second 0x prefix */
    errno = 0;
    *out = strtoull(digits, &end, hex ? 16 : 10);
    if (errno)
        return false;
    unit = units && *end ? strchr("KMG", *end) : NULL;
    if (unit) {
        shift = (*unit == 'K' ? 10u : *unit == 'M' ? 20u : 30u);
        end++;
    }
    if (*end || *out > UINT64_MAX >> shift)
        return false;
    *out <<= shift;
    return true;
}

bool groat__opt_whole(const char *text, int64_t *out)
{
    char *end;

    if (!(*text >= '0' && *text <= '9') && *text != '-')
        return false;
    errno = 0;
    *out = strtoll(text, &end, 10);
    return !errno && end != text && !*end;
}

bool groat__opt_real(const char *text, double *out)
{
    const char *first = *text == '-' ? text + 1 : text;
    char *end;

    if (!(*first >= '0' && *first <= '9') && *first != '.')
        return false;
    if (*first == '0' && (first[1] == 'x' || first[1] == 'X'))
        return false;
    *out = strtod(text, &end);
    return end != text && !*end && isfinite(*out);
}

/* An option given twice is a mistake: neither value is preferred. */
static int refuse_twice(groat__cli *cli, const char *name)
{
    char spelled[GROAT__NAME_ROOM];

    groat__opt_spell(name, spelled);
    return groat__cli_refuse(cli, GROAT_INVALID,
                             "--%s is given twice; %s takes it once", spelled,
                             cli->command->name);
}

static int set_option(groat__cli *cli, const groat__option *option,
                      const char *value)
{
    void *member = (char *)&cli->values + option->offset;
    uint64_t bit = (uint64_t)1 << (option - cli->command->options);
    uint64_t count = 0;

    if (cli->given & bit && option->kind != GROAT__OPTION_LIST)
        return refuse_twice(cli, option->name);
    cli->given |= bit;
    if (option->kind == GROAT__OPTION_FLAG) {
        *(bool *)member = true;
        return GROAT__EXIT_DONE;
    }
    if (!*value)
        return groat__cli_refuse(cli, GROAT_INVALID,
                                 "--%s wants a value, not an empty word",
                                 option->name);
    if (option->kind == GROAT__OPTION_TEXT) {
        *(const char **)member = value;
        return GROAT__EXIT_DONE;
    }
    if (option->kind == GROAT__OPTION_LIST) {
        groat__list *list = member;

        if (list->count == GROAT__LIST_MAX)
            return groat__cli_refuse(cli, GROAT_INVALID,
                                     "--%s may be given %d times at most",
                                     option->name, GROAT__LIST_MAX);
        list->item[list->count++] = value;
        return GROAT__EXIT_DONE;
    }
    if (!read_count(value, option->kind == GROAT__OPTION_BYTES, &count) ||
        count < option->min || count > option->max)
        return groat__cli_refuse(
            cli, GROAT_INVALID,
            "--%s is '%.64s', not a whole number from %" PRIu64 " to %" PRIu64
            "%s",
            option->name, value, option->min, option->max,
            option->kind == GROAT__OPTION_BYTES
                ? ", with K, M or G behind it for powers of 1024"
                : "");
    *(uint64_t *)member = count;
    return GROAT__EXIT_DONE;
}

static int set_driver_arg(groat__cli *cli, const groat_driver_arg *arg,
                          const char *value)
{
    groat__values *values = &cli->values;
    char spelled[GROAT__NAME_ROOM];
    int64_t number;

    for (size_t i = 0; i < values->arg_count; i++)
        if (strcmp(values->arg[i].name, arg->name) == 0)
            return refuse_twice(cli, arg->name);
    groat__opt_spell(arg->name, spelled);
    if (!groat__opt_whole(value, &number))
        return groat__cli_refuse(cli, GROAT_INVALID,
                                 "--%s is '%.64s', not a whole number", spelled,
                                 value);
    if (values->arg_count == GROAT__LIST_MAX)
        return groat__cli_refuse(cli, GROAT_INVALID,
                                 "more than %d run-time arguments",
                                 GROAT__LIST_MAX);
    values->arg[values->arg_count++] = (groat__assignment){arg->name, value};
    return GROAT__EXIT_DONE;
}

/* Handles `typed`, an option without its dashes, from argv[*at]; advances *at
 * if its value is the next word. */
static int parse_option(groat__cli *cli, const char *typed, int argc,
                        char **argv, int *at)
{
    const char *equals = strchr(typed, '=');
    size_t len = equals ? (size_t)(equals - typed) : strlen(typed);
    const char *value = equals ? equals + 1 : NULL;
    const groat_driver_arg *arg = NULL;
    const groat__option *option;
    char name[NAME_MAX_LEN + 1];

    if (len > NAME_MAX_LEN)
        return unknown_option(cli, typed);
    memcpy(name, typed, len);
    name[len] = '\0';
    option = option_find(cli->command, name);
    if (!option && cli->command->driver_args)
        arg = driver_arg_find(name);
    if (!option && !arg)
        return unknown_option(cli, name);
    if (option && option->kind == GROAT__OPTION_FLAG) {
        if (value)
            return groat__cli_refuse(cli, GROAT_INVALID,
                                     "--%s takes no value, got '%.64s'", name,
                                     value);
        return set_option(cli, option, NULL);
    }
    if (!value) {
        if (*at + 1 >= argc)
            return groat__cli_refuse(cli, GROAT_INVALID,
                                     "--%s needs a value; see groat help %s",
                                     name, cli->command->name);
        value = argv[++*at];
    }
    return option ? set_option(cli, option, value)
                  : set_driver_arg(cli, arg, value);
}

/* Returns whether `word` is an option that takes the next word as its value. */
static bool takes_next(const groat__command *command, const char *word)
{
    const groat__option *option;

    if (strcmp(word, "-o") == 0 || strcmp(word, "-j") == 0)
        return true;
    if (!command || strncmp(word, "--", 2) != 0 || strchr(word, '=') ||
        strlen(word) > NAME_MAX_LEN)
        return false;
    option = option_find(command, word + 2);
    return option ? option->kind != GROAT__OPTION_FLAG
                  : command->driver_args && driver_arg_find(word + 2);
}

bool groat__opt_wants_json(const groat__command *commands, int argc,
                           char **argv)
{
    const groat__command *command =
        argc > 1 ? groat__command_find(commands, argv[1]) : NULL;
    bool value = false;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0)
            return true;
        if (!value && strcmp(argv[i], "--") == 0)
            return false;
        value = !value && takes_next(command, argv[i]);
    }
    return false;
}

static int check_words(groat__cli *cli)
{
    const groat__command *command = cli->command;

    if (cli->values.help || (cli->word_count >= command->min_words &&
                             cli->word_count <= command->max_words))
        return GROAT__EXIT_DONE;
    if (cli->word_count < command->min_words)
        return groat__cli_refuse(cli, GROAT_INVALID,
                                 "%s needs %s; see groat help %s",
                                 command->name, command->words, command->name);
    return groat__cli_refuse(
        cli, GROAT_INVALID, "%s takes no word '%.64s'; see groat help %s",
        command->name, cli->words[command->max_words], command->name);
}

int groat__opt_parse(groat__cli *cli, int argc, char **argv)
{
    const char **words;
    bool ended = false;

    words = calloc((size_t)argc + 1, sizeof(*words));
    if (!words)
        return groat__cli_refuse(cli, GROAT_NO_MEMORY, "out of memory");
    cli->words = words;
    for (int i = 0; i < argc; i++) {
        int code = GROAT__EXIT_DONE;

        if (!ended && strcmp(argv[i], "--") == 0)
            ended = true;
        else if (!ended && strcmp(argv[i], "-h") == 0)
            cli->values.help = true;
        else if (!ended && strncmp(argv[i], "--", 2) == 0)
            code = parse_option(cli, argv[i] + 2, argc, argv, &i);
        else if (!ended && strcmp(argv[i], "-o") == 0)
            code = parse_option(cli, "output", argc, argv, &i);
        else if (!ended && strcmp(argv[i], "-j") == 0)
            code = parse_option(cli, "jobs", argc, argv, &i);
        else if (!ended && argv[i][0] == '-' && argv[i][1] != '\0')
            code = groat__cli_refuse(
                cli, GROAT_INVALID,
                "%s has no option '%.64s'; see groat help %s",
                cli->command->name, argv[i], cli->command->name);
        else
            words[cli->word_count++] = argv[i];
        if (code)
            return code;
    }
    return check_words(cli);
}
