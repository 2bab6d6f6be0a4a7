/* SPDX-License-Identifier: Apache-2.0
 *
 * strike.h - a store, a bundle and an image whose every kernel is known; a
 * worker that is run on them while something goes wrong; and a process that
 * looks afterwards at what is left.
 */
#ifndef GROAT_TEST_STRIKE_H
#define GROAT_TEST_STRIKE_H

#include "faulty.h"
#include "matrix.h"
#include "tests/pipe/rig.h"
#include "tests/unit/cache/fixture.h"

/* The adders of the world, by their step. */
enum {
    IN_STORE = 1,
    IN_BUNDLE,
    IN_IMAGE,
    NEW, /* what none has, and another */
    NEWER,
    STEPS,
    FILLERS = 6, /* numbered kernels beside IN_STORE */
    GETS = 6,    /* IN_STORE, IN_BUNDLE, IN_IMAGE, NEW, NEWER, IN_STORE */
    TIME_S = 60, /* what no process of these may take, */
    WAITS_US = 15000000 /* and how long it may wait, all together */
};

/* In what state the store is when the worker starts. */
typedef enum scene {
    SCENE_HELD,   /* closed, with IN_STORE and the fillers           */
    SCENE_KILLED, /* the same, left in its -wal by who was killed    */
    SCENE_FULL,   /* the same, and each put evicts fillers           */
    SCENE_FRESH,  /* there is none                                   */
    SCENE_DAMAGED /* its first page is noise                         */
} scene;

/* A kernel as a build gives it. */
typedef struct known {
    groat__digest key;
    char *identity;
    void *data;
    size_t bytes;
} known;

typedef struct world {
    rig rig;
    char worker[300], compiler[300], preload[300];
    char report[300], out[300];               /* of a worker */
    char held[300], killed[300];              /* stores, */
    char sound_bundle[300], sound_image[300]; /* and these, to copy */
    char bundle[300], image[300];
    known kernels[STEPS];
    uint64_t held_bytes;
} world;

/* What is to go wrong: NULL or 0 where nothing of the kind is. */
typedef struct strike {
    const char *fault, *layer; /* its row of the matrix */
    scene at;
    unsigned watched; /* the step whose kernel it is about; 0: IN_STORE */
    void (*hurt)(world *, unsigned); /* before the worker starts */
    unsigned arg;                    /* of hurt */
    pid_t (*rival)(world *); /* a process that runs beside the worker, and is *
                              * killed when that has ended                    */
    void (*mend)(world *);   /* before another process looks */
    const char *files;       /* that begin with this; of which */
    const char *calls;       /* these calls, */
    unsigned n;              /* the n-th, */
    bool on;                 /* or that and all that follow, */
    const char *deed;        /* see this; all as in faulty.h  */
    const char *clock;
    bool naps;    /* are taken: the rival is waited for */
    bool damages; /* entries may be lost with it */
    bool silent;  /* nobody can know of it */
    bool useless; /* what is watched must not be taken as it is */
    bool refused; /* the file is left as it is, and of no use */
} strike;

typedef struct got {
    unsigned step;
    int status;
    char origin[16];
    bool right, kept;
} got;

/* What a worker did, and had to say. */
typedef struct sight {
    int signal; /* that ended it; 0: none */
    bool ended; /* it has come to its end */
    bool store;
    got gets[GETS];
    unsigned got;
    char said[8192]; /* lines */
    uint64_t faults, evictions, takeovers, bundle_faults;
    uint64_t unused; /* layers that could not be opened */
    faulty_report report;
} sight;

/* What another process finds. */
typedef struct found {
    bool opened, verified, takes_puts, claims;
    answer steps[STEPS];
    unsigned fillers; /* that are right, */
    unsigned wrong;   /* and entries that are not */
    uint64_t dropped; /* by its verify */
    char said[8192];
    unsigned asides;  /* files set aside that lie in the folder */
    char litter[128]; /* a file that should not be there, or "" */
} found;

/* Once, in a process that makes the others. */
void world_make(world *w);
void world_drop(world *w);

/* The store as the scene has it; what was there is removed. */
void world_set(world *w, scene at);

/* Makes `to` what `from` is. */
void world_copy(const char *from, const char *to);
/* Noise in the place of so many bytes of a file; one bit of it turned. */
void world_write(const char *path, uint64_t from, size_t bytes);
void world_flip(const char *path, uint64_t bit);

/* Opens the store in this process; close it. */
groat__store *world_store(const world *w);

/* Runs a worker until it ends, or for TIME_S. */
void world_run(world *w, const strike *s, sight *out);

/* Looks at the store from a process of its own. */
void world_look(world *w, found *out);

/* What must hold of every strike, whatever was struck; notes the rest in the
 * matrix. */
void world_judge(const strike *s, const sight *did, const found *left);

/* All of it: false when there was nothing to strike. */
bool world_strike(world *w, const strike *s);

#endif
