/* SPDX-License-Identifier: Apache-2.0
 *
 * dl.c finds and opens libraries at run time and says how it went.  It leaves
 * to its callers which names and places to try.  Invariant: a groat__dl with a
 * handle has path and build_id filled; one without has a story.  No locking:
 * a groat__dl is opened once and read-only afterwards.
 */
#include "base/dl.h"

#include <dlfcn.h>
#include <elf.h>
#include <glob.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/hash.h"

/* libnvrtc is 110 MB; nothing that we open is larger than this. */
#define LIBRARY_BYTES_MAX ((size_t)1 << 30)

typedef struct note_search {
    ElfW(Addr) base;
    char *out;
    size_t out_bytes;
    bool found;
} note_search;

static void find_build_id(note_search *search, const char *note, size_t bytes)
{
    while (bytes >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *head = (const ElfW(Nhdr) *)note;
        size_t name = ((size_t)head->n_namesz + 3) & ~(size_t)3;
        size_t desc = ((size_t)head->n_descsz + 3) & ~(size_t)3;
        const char *at = note + sizeof(*head);

        /* The last one's padding may be left out. */
        bytes -= sizeof(*head);
        if (name > bytes || head->n_descsz > bytes - name)
            return;
        if (head->n_type == NT_GNU_BUILD_ID && head->n_namesz == 4 &&
            head->n_descsz > 0 && memcmp(at, "GNU", 4) == 0) {
            size_t len = head->n_descsz;

            if (len > (search->out_bytes - 1) / 2)
                len = (search->out_bytes - 1) / 2;
            groat__hex(search->out, (const uint8_t *)at + name, len);
            search->found = true;
            return;
        }
        if (desc > bytes - name)
            return;
        note = at + name + desc;
        bytes -= name + desc;
    }
}

/* A note that tools have moved need not be in memory. */
static bool is_loaded(const struct dl_phdr_info *info, const ElfW(Phdr) * note)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *head = &info->dlpi_phdr[i];

        if (head->p_type == PT_LOAD && (head->p_flags & PF_R) != 0 &&
            note->p_vaddr >= head->p_vaddr &&
            note->p_vaddr - head->p_vaddr <= head->p_filesz &&
            note->p_memsz <= head->p_filesz - (note->p_vaddr - head->p_vaddr))
            return true;
    }
    return false;
}

static int look_at_object(struct dl_phdr_info *info, size_t size, void *user)
{
    note_search *search = user;

    (void)size;
    if (info->dlpi_addr != search->base)
        return 0;
    for (int i = 0; i < info->dlpi_phnum && !search->found; i++) {
        const ElfW(Phdr) *head = &info->dlpi_phdr[i];

        if (head->p_type == PT_NOTE && is_loaded(info, head))
            find_build_id(search,
                          (const char *)(info->dlpi_addr + head->p_vaddr),
                          head->p_memsz);
    }
    return 1;
}

/* One try, one line, whatever the path is. */
static void tell(groat__dl *dl, const char *what, const char *why)
{
    size_t start = dl->story.len;

    groat__str_addf(&dl->story, "%s%s", what, why);
    if (dl->story.data != NULL)
        groat__one_line(dl->story.data + start);
    groat__str_add(&dl->story, "\n");
}

/* A library without a build id is named by its bytes: slow, but never wrong. */
static bool name_by_content(groat__dl *dl)
{
    groat_error error = GROAT_ERROR_INIT;
    char *data = NULL;
    size_t bytes = 0;
    groat_status status =
        groat__fs_read(dl->path, LIBRARY_BYTES_MAX, &data, &bytes, &error);

    if (status == GROAT_OK)
        groat__hex(dl->build_id, groat__hash128(data, bytes).bytes, 16);
    else
        tell(dl, error.text, "");
    groat_error_clear(&error);
    free(data);
    return status == GROAT_OK;
}

static bool describe(groat__dl *dl, const char *asked)
{
    struct link_map *map = NULL;
    note_search search = {0, dl->build_id, sizeof(dl->build_id), false};
    const char *name = asked;

    if (dlinfo(dl->handle, RTLD_DI_LINKMAP, &map) == 0 && map != NULL) {
        search.base = map->l_addr;
        if (map->l_name != NULL && map->l_name[0] != '\0')
            name = map->l_name;
    }
    dl->path = realpath(name, NULL);
    if (dl->path == NULL)
        dl->path = strdup(name);
    if (dl->path == NULL)
        return false;
    if (map != NULL)
        (void)dl_iterate_phdr(look_at_object, &search);
    return search.found || name_by_content(dl);
}

/* The story goes on. */
static void let_go(groat__dl *dl)
{
    if (dl->handle != NULL)
        (void)dlclose(dl->handle);
    dl->handle = NULL;
    free(dl->path);
    dl->path = NULL;
    dl->build_id[0] = '\0';
}

static bool try_name(groat__dl *dl, const char *name)
{
    const char *reason;

    /* NODELETE: vendor libraries keep threads and pools that do not survive
     * being unmapped. */
    dl->handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (dl->handle == NULL) {
        reason = dlerror();
        tell(dl, reason != NULL ? reason : name, "");
        return false;
    }
    if (describe(dl, name))
        return true;
    let_go(dl);
    return false;
}

/* By version: rocm-7.10 is newer than rocm-7.2. */
static int newer_first(const void *a, const void *b)
{
    return strverscmp(*(char *const *)b, *(char *const *)a);
}

static bool try_pattern(groat__dl *dl, const char *pattern)
{
    glob_t found = {0};
    bool opened = false;

    if (glob(pattern, GLOB_TILDE, NULL, &found) == 0) {
        qsort(found.gl_pathv, found.gl_pathc, sizeof(found.gl_pathv[0]),
              newer_first);
        for (size_t i = 0; i < found.gl_pathc && !opened; i++)
            opened = try_name(dl, found.gl_pathv[i]);
    } else {
        tell(dl, pattern, ": no such file");
    }
    globfree(&found);
    return opened;
}

static bool try_all(const groat__dl_search *search, groat__dl *dl)
{
    if (search->override != NULL)
        return try_name(dl, search->override);
    for (size_t i = 0; search->sonames && search->sonames[i] != NULL; i++)
        if (try_name(dl, search->sonames[i]))
            return true;
    for (size_t i = 0; search->patterns && search->patterns[i] != NULL; i++)
        if (try_pattern(dl, search->patterns[i]))
            return true;
    return false;
}

groat_status groat__dl_open(const groat__dl_search *search, groat__dl *dl,
                            groat_error *error)
{
    const char *first;

    memset(dl, 0, sizeof(*dl));
    if (try_all(search, dl))
        return GROAT_OK;
    if (search->override != NULL)
        return groat__fail(error, GROAT_NO_DEVICE, "cannot open %s=%s: %s",
                           search->override_name, search->override,
                           dl->story.data ? dl->story.data : "no memory");
    first = search->sonames != NULL && search->sonames[0] != NULL
                ? search->sonames[0]
                : "the library";
    return groat__fail(error, GROAT_NO_DEVICE,
                       "%s is not to be had in any of the usual places; "
                       "`groat doctor` lists them",
                       first);
}

void groat__dl_close(groat__dl *dl)
{
    let_go(dl);
    groat__str_free(&dl->story);
}

void *groat__dl_symbol(const groat__dl *dl, const char *name)
{
    return dl->handle == NULL ? NULL : dlsym(dl->handle, name);
}
