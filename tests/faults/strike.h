/* SPDX-License-Identifier: Apache-2.0
 *
 * strike.h - a store, a bundle and an image whose kernels are all known; a
 * worker that runs on them while something goes wrong; and a process that
 * inspects what is left afterwards.
 */
#ifndef GROAT_TEST_STRIKE_H
#define GROAT_TEST_STRIKE_H

#include "faulty.h"
#include "matrix.h"
#include "tests/pipe/rig.h"
#include "tests/unit/cache/fixture.h"

/* The adders of the world, by step. */
enum {
    IN_STORE = 1,
    IN_BUNDLE,
    IN_IMAGE,
    NEW, /* in no layer, like NEWER */
    NEWER,
    STEPS,
    FILLERS = 6, /* numbered kernels besides IN_STORE */
    GETS = 6,    /* IN_STORE, IN_BUNDLE, IN_IMAGE, NEW, NEWER, IN_STORE */
    TIME_S = 60, /* limit for a process */
    WAITS_US = 15000000 /* limit for all its waits together */
};

/* The state of the store when the worker starts. */
typedef enum scene {
    SCENE_HELD,   /* closed, with IN_STORE and the fillers */
    SCENE_KILLED, /* the same, in the -wal that a killed process left */
    SCENE_FULL,   /* the same, but each put evicts fillers */
    SCENE_FRESH,  /* no store */
    SCENE_DAMAGED /* its first page is noise */
} scene;

/* A kernel as a build returns it. */
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
    char held[300], killed[300];              /* stores to copy */
    char sound_bundle[300], sound_image[300]; /* sound files to copy */
    char bundle[300], image[300];
    known kernels[STEPS];
    uint64_t held_bytes;
} world;

/* What is to go wrong; NULL or 0: nothing of that kind. */
typedef struct strike {
    const char *fault, *layer; /* its row of the matrix */
    scene at;
    unsigned watched; /* the step whose kernel is watched; 0: IN_STORE */
    void (*hurt)(world *, unsigned); /* runs before the worker starts */
    unsigned arg;                    /* argument of hurt */
    pid_t (*rival)(world *); /* a process beside the worker, killed when the
                              * worker has ended */
    void (*mend)(world *);   /* runs before another process looks */
    const char *files;       /* files whose paths begin with this */
    const char *calls;       /* these calls on them */
    unsigned n;              /* the n-th of these */
    bool on;                 /* or that one and all that follow */
    const char *deed;        /* as in faulty.h, like all of these */
    const char *clock;
    bool naps;    /* naps are taken, to wait for the rival */
    bool damages; /* entries may be lost */
    bool silent;  /* the loss cannot be detected */
    bool useless; /* the watched kernel must not be used as it is */
    bool refused; /* the file is left alone and cannot be used */
} strike;

typedef struct got {
    unsigned step;
    int status;
    char origin[16];
    bool right, kept;
} got;

/* What a worker did and logged. */
typedef struct sight {
    int signal; /* that ended it; 0: none */
    bool ended; /* it has run to its end */
    bool store;
    got gets[GETS];
    unsigned got;
    char said[8192]; /* log lines */
    uint64_t faults, evictions, takeovers, bundle_faults;
    uint64_t unused; /* layers that could not be opened */
    faulty_report report;
} sight;

/* What another process finds afterwards. */
typedef struct found {
    bool opened, verified, takes_puts, claims;
    answer steps[STEPS];
    unsigned fillers; /* right ones */
    unsigned wrong;   /* entries that are not right */
    uint64_t dropped; /* by its verify */
    char said[8192];
    unsigned asides;  /* files set aside in the folder */
    char litter[128]; /* a file that should not be there, or "" */
} found;

/* Call once, in the process that starts the others. */
void world_make(world *w);
void world_drop(world *w);

/* Replaces the store by that of the scene. */
void world_set(world *w, scene at);

/* Makes `to` a copy of `from`. */
void world_copy(const char *from, const char *to);
/* Overwrites bytes of a file with noise; flips one bit of a file. */
void world_write(const char *path, uint64_t from, size_t bytes);
void world_flip(const char *path, uint64_t bit);

/* Opens the store in this process; the caller closes it. */
groat__store *world_store(const world *w);

/* Runs a worker until it ends, or for at most TIME_S. */
void world_run(world *w, const strike *s, sight *out);

/* Inspects the store from another process. */
void world_look(world *w, found *out);

/* Checks what must hold after every strike, whatever was struck; notes the rest
 * in the matrix. */
void world_judge(const strike *s, const sight *did, const found *left);

/* Runs all steps of a strike; returns false if there was nothing to strike. */
bool world_strike(world *w, const strike *s);

#endif
