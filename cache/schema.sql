-- SPDX-License-Identifier: Apache-2.0
--
-- Schema 4 of the store: one row per binary, and one per binary that was used.
--
-- embed_schema.sh drops the comments and makes a C string of the rest.  A file
-- whose schema differs from this text in one byte is not used, so nothing here
-- ever changes; what is new is a step at the end, closed by its user_version.
-- A new file takes every step, one of an older schema those that it lacks.

-- "grot" in ASCII: how file(1) and the store know the file.
PRAGMA application_id = 0x67726f74;

CREATE TABLE entry (
    id INTEGER PRIMARY KEY,        -- first half of key: a hit needs no index
    key BLOB NOT NULL,             -- XXH3-128 of the identity, 16 bytes
    used INTEGER NOT NULL,         -- last use, microseconds since 1970
    created INTEGER NOT NULL,      -- the same clock
    bytes INTEGER NOT NULL,        -- length of binary
    seal BLOB NOT NULL,            -- XXH3-128 over all but used and created
    registers INTEGER NOT NULL,    -- facts of the binary; -1: not known
    sgprs INTEGER NOT NULL,
    spill_bytes INTEGER NOT NULL,
    shared_bytes INTEGER NOT NULL,
    code_bytes INTEGER NOT NULL,
    max_threads INTEGER NOT NULL,
    identity TEXT NOT NULL,        -- compared in full on every hit
    log TEXT NOT NULL,             -- what the compiler said
    binary BLOB NOT NULL           -- last, so that listings skip over it
);

-- Eviction order, and the sums of stat without touching a row.
CREATE INDEX entry_used ON entry (used, bytes);

PRAGMA user_version = 1;

-- Who compiles what at the moment, so that others wait for it.  A row that is
-- left over by a process that died is replaced by the next that wants its key.
CREATE TABLE lease (
    id INTEGER PRIMARY KEY,        -- that of the entry to come
    owner INTEGER NOT NULL,        -- random, of one open store
    boot TEXT NOT NULL,            -- boot id of the holder's kernel; '': unknown
    space INTEGER NOT NULL,        -- its pid namespace; 0: unknown
    pid INTEGER NOT NULL,          -- in that namespace
    started INTEGER NOT NULL,      -- its start, in ticks of /proc; 0: unknown
    beat INTEGER NOT NULL          -- last renewal, ms of the monotonic clock
);

PRAGMA user_version = 2;

-- How often an entry was used, beside it: a count that grows shall not rewrite
-- a row of many pages.
CREATE TABLE usage (
    id INTEGER PRIMARY KEY,        -- that of the entry
    uses INTEGER NOT NULL,         -- times that a process took or put it
    first INTEGER NOT NULL         -- what the first took, microseconds; -1: unknown
);

PRAGMA user_version = 3;

-- Who compiles what is told by locks on groat.lock.
DROP TABLE lease;

PRAGMA user_version = 4;
