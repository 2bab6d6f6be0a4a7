/* SPDX-License-Identifier: Apache-2.0
 *
 * loader.c predicts which file the dynamic loader would open, without opening
 * it: to open a library of 100 MB takes milliseconds and megabytes.
 *
 * Invariant: nothing is loaded; a choice of the loader's gives UNKNOWN.
 * Locking: none; it holds no state.
 */
#include "base/loader.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"

enum { NOTES_MAX = 4096, PARTS_MAX = 64, CACHE_BYTES_MAX = 16 << 20 };

/* ---- build ids --------------------------------------------------------- */

static bool read_notes(const char *notes, size_t bytes, char *out,
                       size_t out_bytes)
{
    while (bytes >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *head = (const ElfW(Nhdr) *)notes;
        size_t name = ((size_t)head->n_namesz + 3) & ~(size_t)3;
        size_t desc = ((size_t)head->n_descsz + 3) & ~(size_t)3;
        const char *at = notes + sizeof(*head);

        /* The padding of the last note may be missing. */
        bytes -= sizeof(*head);
        if (name > bytes || head->n_descsz > bytes - name)
            return false;
        if (head->n_type == NT_GNU_BUILD_ID && head->n_namesz == 4 &&
            head->n_descsz > 0 && memcmp(at, "GNU", 4) == 0) {
            size_t len = head->n_descsz;

            if (len > (out_bytes - 1) / 2)
                len = (out_bytes - 1) / 2;
            groat__hex(out, (const uint8_t *)at + name, len);
            return true;
        }
        if (desc > bytes - name)
            return false;
        notes = at + name + desc;
        bytes -= name + desc;
    }
    return false;
}

/* Returns whether a note lies in a mapped segment.  Tools may have moved it out
 * of them; what is in memory at its address is then something else. */
static bool is_mapped(const ElfW(Phdr) * parts, unsigned count,
                      const ElfW(Phdr) * note)
{
    for (unsigned i = 0; i < count; i++) {
        const ElfW(Phdr) *part = &parts[i];

        if (part->p_type == PT_LOAD && (part->p_flags & PF_R) != 0 &&
            note->p_vaddr >= part->p_vaddr &&
            note->p_vaddr - part->p_vaddr <= part->p_filesz &&
            note->p_memsz <= part->p_filesz - (note->p_vaddr - part->p_vaddr))
            return true;
    }
    return false;
}

typedef struct search {
    ElfW(Addr) base;
    char *out;
    size_t out_bytes;
    bool found;
} search;

static int look_at_object(struct dl_phdr_info *info, size_t size, void *user)
{
    search *s = user;

    (void)size;
    if (info->dlpi_addr != s->base)
        return 0;
    for (int i = 0; i < info->dlpi_phnum && !s->found; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];

        s->found = part->p_type == PT_NOTE &&
                   is_mapped(info->dlpi_phdr, info->dlpi_phnum, part) &&
                   read_notes((const char *)(info->dlpi_addr + part->p_vaddr),
                              part->p_memsz, s->out, s->out_bytes);
    }
    return 1;
}

bool groat__loader_mapped_id(uintptr_t base, char *out, size_t out_bytes)
{
    search s = {base, out, out_bytes, false};

    (void)dl_iterate_phdr(look_at_object, &s);
    return s.found;
}

/* Defined by the linker: the ELF header of the file that this code is in. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

static bool is_native(const ElfW(Ehdr) * head)
{
    const ElfW(Ehdr) *own = &__ehdr_start;

    return memcmp(head->e_ident, own->e_ident, EI_VERSION + 1) == 0 &&
           head->e_machine == own->e_machine &&
           head->e_phentsize == sizeof(ElfW(Phdr)) &&
           head->e_phnum <= PARTS_MAX;
}

static bool read_at(int fd, void *to, size_t bytes, uint64_t at)
{
    return at <= INT64_MAX && pread(fd, to, bytes, (off_t)at) == (ssize_t)bytes;
}

static bool read_part(int fd, const ElfW(Phdr) * part, char *out,
                      size_t out_bytes)
{
    _Alignas(ElfW(Nhdr)) char notes[NOTES_MAX];

    return part->p_filesz <= sizeof(notes) &&
           read_at(fd, notes, part->p_filesz, part->p_offset) &&
           read_notes(notes, part->p_filesz, out, out_bytes);
}

/* Whether the loader would skip the file: absent, or for another machine. */
static bool is_another_machine(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ElfW(Ehdr) head;
    bool another;

    if (fd < 0)
        return errno == ENOENT || errno == EACCES || errno == ENOTDIR;
    another = !read_at(fd, &head, sizeof(head), 0) ||
              memcmp(head.e_ident, __ehdr_start.e_ident, EI_VERSION + 1) != 0 ||
              head.e_machine != __ehdr_start.e_machine;
    (void)close(fd);
    return another;
}

bool groat__loader_build_id(const char *path, char *out, size_t out_bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ElfW(Phdr) parts[PARTS_MAX];
    bool found = false;
    ElfW(Ehdr) head;

    if (fd < 0)
        return false;
    if (read_at(fd, &head, sizeof(head), 0) && is_native(&head) &&
        read_at(fd, parts, head.e_phnum * sizeof(parts[0]), head.e_phoff))
        for (unsigned i = 0; i < head.e_phnum && !found; i++)
            found = parts[i].p_type == PT_NOTE &&
                    is_mapped(parts, head.e_phnum, &parts[i]) &&
                    read_part(fd, &parts[i], out, out_bytes);
    (void)close(fd);
    return found;
}

/* ---- the loader's cache ------------------------------------------------ */

/* The format that ldconfig(8) writes, from elf/dl-cache.h of glibc; offsets of
 * texts count from the head. */
typedef struct cache_head {
    char magic[20];
    uint32_t count;
    uint32_t text_bytes;
    uint32_t unused[5];
} cache_head;

typedef struct cache_entry {
    int32_t flags;
    uint32_t name;
    uint32_t path;
    uint32_t os;
    uint64_t hwcap;
} cache_entry;

static const char cache_magic[] = "glibc-ld.so.cache1.1";

/* Returns the text at an offset; the NUL after the cache ends the last. */
static const char *text_at(const char *cache, size_t bytes, uint32_t offset)
{
    return offset < bytes ? cache + offset : "";
}

groat__loader_answer groat__loader_search_cache(const char *cache, size_t bytes,
                                                const char *name,
                                                groat__str *path)
{
    groat__loader_answer answer = GROAT__LOADER_NONE;
    cache_head head;
    cache_entry entry;
    char id[3];

    if (bytes < sizeof(head))
        return GROAT__LOADER_UNKNOWN;
    memcpy(&head, cache, sizeof(head));
    if (memcmp(head.magic, cache_magic, sizeof(head.magic)) != 0 ||
        head.count > (bytes - sizeof(head)) / sizeof(entry))
        return GROAT__LOADER_UNKNOWN;
    for (uint32_t i = 0; i < head.count; i++) {
        memcpy(&entry, cache + sizeof(head) + i * sizeof(entry), sizeof(entry));
        if (strcmp(text_at(cache, bytes, entry.name), name) != 0 ||
            is_another_machine(text_at(cache, bytes, entry.path)))
            continue;
        if (answer != GROAT__LOADER_NONE ||
            !groat__loader_build_id(text_at(cache, bytes, entry.path), id,
                                    sizeof(id)))
            return GROAT__LOADER_UNKNOWN;
        groat__str_add(path, text_at(cache, bytes, entry.path));
        answer = GROAT__LOADER_FILE;
    }
    return answer;
}

/* Mapped, as the loader does it: ldconfig(8) replaces the file and never cuts
 * it.  The rest of its last page is zeros; where there is none, the answer is
 * UNKNOWN and costs the caller the opening of the library. */
static groat__loader_answer search_file(int fd, const char *name,
                                        groat__str *path)
{
    groat__loader_answer answer;
    struct stat st;
    size_t bytes;
    void *cache;

    if (fstat(fd, &st) != 0 || st.st_size <= 0 ||
        st.st_size > CACHE_BYTES_MAX || st.st_size % sysconf(_SC_PAGESIZE) == 0)
        return GROAT__LOADER_UNKNOWN;
    bytes = (size_t)st.st_size;
    cache = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (cache == MAP_FAILED)
        return GROAT__LOADER_UNKNOWN;
    answer = groat__loader_search_cache(cache, bytes, name, path);
    (void)munmap(cache, bytes);
    return answer;
}

static groat__loader_answer find_in_cache(const char *name, groat__str *path)
{
    int fd = open("/etc/ld.so.cache", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    groat__loader_answer answer;

    if (fd < 0)
        return errno == ENOENT ? GROAT__LOADER_NONE : GROAT__LOADER_UNKNOWN;
    answer = search_file(fd, name, path);
    (void)close(fd);
    if (answer != GROAT__LOADER_FILE)
        groat__str_clear(path);
    return answer;
}

/* ---- folders ----------------------------------------------------------- */

/* Returns the loader's folders for the library or program that this code is in,
 * malloc'd, or NULL. */
static Dl_serinfo *list_folders(void)
{
    struct link_map *own = NULL;
    Dl_serinfo *list = NULL;
    Dl_serinfo size;
    Dl_info info;

    if (dladdr1(cache_magic, &info, (void **)&own, RTLD_DL_LINKMAP) == 0 ||
        own == NULL || dlinfo(own, RTLD_DI_SERINFOSIZE, &size) != 0)
        return NULL;
    list = malloc(size.dls_size);
    if (list == NULL)
        return NULL;
    *list = size;
    if (dlinfo(own, RTLD_DI_SERINFO, list) != 0) {
        free(list);
        return NULL;
    }
    return list;
}

/* glibc does not tell which of its folders come after the cache: these do. */
static bool is_system(const char *folder)
{
    return strncmp(folder, "/lib", 4) == 0 ||
           strncmp(folder, "/usr/lib", 8) == 0;
}

/* Searches the system's folders, or those that come before the cache. */
static groat__loader_answer find_in_folders(const Dl_serinfo *list, bool system,
                                            const char *name, groat__str *path)
{
    char id[3];

    for (unsigned i = 0; i < list->dls_cnt; i++) {
        const char *folder = list->dls_serpath[i].dls_name;

        if (is_system(folder) != system)
            continue;
        groat__str_clear(path);
        groat__str_addf(path, "%s/%s", folder, name);
        if (path->failed)
            return GROAT__LOADER_UNKNOWN;
        if (groat__loader_build_id(path->data, id, sizeof(id)))
            return GROAT__LOADER_FILE;
        if (access(path->data, F_OK) == 0)
            return GROAT__LOADER_UNKNOWN;
    }
    groat__str_clear(path);
    return GROAT__LOADER_NONE;
}

static bool is_same_file(const char *one, const char *other)
{
    struct stat a;
    struct stat b;

    return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* Searches the cache, then the system's folders.  UNKNOWN if they have
 * different files of the name: a folder may have been named to come first. */
static groat__loader_answer find_in_system(const Dl_serinfo *list,
                                           const char *name, groat__str *path)
{
    groat__str second = {0};
    groat__loader_answer answer = find_in_cache(name, path);
    groat__loader_answer other = find_in_folders(list, true, name, &second);

    if (answer == GROAT__LOADER_NONE && other == GROAT__LOADER_FILE)
        groat__str_add(path, second.data);
    if (answer == GROAT__LOADER_NONE)
        answer = other;
    else if (other == GROAT__LOADER_UNKNOWN ||
             (other == GROAT__LOADER_FILE && answer == GROAT__LOADER_FILE &&
              !is_same_file(path->data, second.data)))
        answer = GROAT__LOADER_UNKNOWN;
    groat__str_free(&second);
    return path->failed ? GROAT__LOADER_UNKNOWN : answer;
}

/* ---- libraries that are loaded ----------------------------------------- */

/* Returns the name that a library has given itself, or "". */
static const char *own_name(const struct dl_phdr_info *info,
                            const ElfW(Phdr) * dynamic)
{
    const ElfW(Dyn) *entry =
        (const ElfW(Dyn) *)(info->dlpi_addr + dynamic->p_vaddr);
    ElfW(Addr) texts = 0;
    ElfW(Addr) name = 0;

    for (; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_STRTAB)
            texts = entry->d_un.d_ptr;
        if (entry->d_tag == DT_SONAME)
            name = entry->d_un.d_val;
    }
    if (texts == 0 || name == 0)
        return "";
    if (texts < info->dlpi_addr) /* glibc relocates most of these addresses */
        texts += info->dlpi_addr;
    return (const char *)(texts + name);
}

static int has_name(struct dl_phdr_info *info, size_t size, void *user)
{
    const char *name = user;
    const char *slash = strrchr(info->dlpi_name, '/');

    (void)size;
    if (strcmp(slash == NULL ? info->dlpi_name : slash + 1, name) == 0)
        return 1;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC &&
            strcmp(own_name(info, &info->dlpi_phdr[i]), name) == 0)
            return 1;
    return 0;
}

/* dlopen() with RTLD_NOLOAD would say the same after it has searched for the
 * file. */
static bool is_loaded(const char *name)
{
    return dl_iterate_phdr(has_name, (void *)(uintptr_t)name) != 0;
}

groat__loader_answer groat__loader_find(const char *name, groat__str *path)
{
    groat__loader_answer answer = GROAT__LOADER_UNKNOWN;
    Dl_serinfo *list = is_loaded(name) ? NULL : list_folders();

    if (list != NULL) {
        answer = find_in_folders(list, false, name, path);
        if (answer == GROAT__LOADER_NONE)
            answer = find_in_system(list, name, path);
    }
    free(list);
    return answer;
}
