-- SPDX-License-Identifier: Apache-2.0
--
-- Format 1 of bundles, but for table entry, which is that of schema.sql with
-- used and created 0.  As there, nothing here ever changes.

-- "grob" in ASCII: how file(1) and groat know the file.
PRAGMA application_id = 0x67726f62;

-- Who vouches for the entries: one row, or none.
CREATE TABLE signature (
    id INTEGER PRIMARY KEY,        -- 1
    signer BLOB NOT NULL,          -- Ed25519 public key, 32 bytes
    signature BLOB NOT NULL,       -- 64 bytes, over "groat bundle 1\n", marks
    marks BLOB NOT NULL            -- of each entry, in the order of ids: its
                                   -- key, and BLAKE2b-256 of all that is in it
);

PRAGMA user_version = 1;
