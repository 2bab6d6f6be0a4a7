/* SPDX-License-Identifier: Apache-2.0
 *
 * snapshot.c copies device memory, and copies it back.
 */
#include "judge/snapshot.h"

#include <stdlib.h>
#include <string.h>

struct groat__snapshot {
    uint8_t *image; /* the kernel's variables, within its code */
    uint8_t *bytes; /* of all buffers, one behind the other */
};

groat__snapshot *groat__snapshot_take(const groat__judge_launch *launch)
{
    enum { MOST = 256 << 20 };
    groat__snapshot *s = calloc(1, sizeof(*s));
    size_t image = launch->plain.image_bytes;
    size_t all = 0;

    for (size_t i = 0; i < launch->range_count; i++)
        all += all > MOST ? 0 : launch->ranges[i].bytes;
    if (s == NULL || all > MOST)
        goto none;
    s->image = malloc(image + 1);
    s->bytes = malloc(all + 1);
    if (s->image == NULL || s->bytes == NULL)
        goto none;
    if (image > 0)
        memcpy(s->image, launch->plain.image, image);
    all = 0;
    for (size_t i = 0; i < launch->range_count; i++) {
        const groat__judge_range *r = &launch->ranges[i];

        memcpy(s->bytes + all, (const void *)(uintptr_t)r->address, r->bytes);
        all += r->bytes;
    }
    return s;
none:
    groat__snapshot_free(s);
    return NULL;
}

/* Most of the image cannot be written, and nobody has written it. */
static void restore_image(const groat__snapshot *s,
                          const struct groat_cpu_plain *plain)
{
    uint8_t *image = (uint8_t *)(uintptr_t)plain->image;

    for (size_t i = 0; i < plain->image_bytes; i++)
        if (image[i] != s->image[i])
            image[i] = s->image[i];
}

void groat__snapshot_restore(const groat__snapshot *snapshot,
                             const groat__judge_launch *launch)
{
    size_t at = 0;

    restore_image(snapshot, &launch->plain);
    for (size_t i = 0; i < launch->range_count; i++) {
        const groat__judge_range *r = &launch->ranges[i];

        memcpy((void *)(uintptr_t)r->address, snapshot->bytes + at, r->bytes);
        at += r->bytes;
    }
}

void groat__snapshot_free(groat__snapshot *snapshot)
{
    if (snapshot == NULL)
        return;
    free(snapshot->image);
    free(snapshot->bytes);
    free(snapshot);
}
