-- SPDX-License-Identifier: Apache-2.0
--
-- Schema 1 of the store: one row per binary.
--
-- embed_schema.sh drops the comments and makes a C string of the rest.  A file
-- whose schema differs from this text in one byte is not used, so a change
-- here is a new user_version, and code that reads the older one.

-- "grot" in ASCII: how file(1) and the store know the file.
PRAGMA application_id = 0x67726f74;
PRAGMA user_version = 1;

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
