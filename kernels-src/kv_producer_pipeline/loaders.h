// SPDX-License-Identifier: Apache-2.0
// The producers of kv_producer_pipeline: boxes copied by the copy engine and
// issued by one warp, or 16-byte copies by several warps.
#pragma once

#include "shapes.h"

namespace groat {
namespace kv_producer_pipeline {

// Common to both kinds: where rows come from, and the queries.
struct some_loader {
    const job &j;
    kv_producer<ring> at;
    u32 tile;    // tiles put into the ring
    bool chosen; // the thread that arrives and copies queries

    GROAT_DEVICE some_loader(const job &of, bool thread)
        : j(of), at(of.all_slots()), tile(0), chosen(thread)
    {
    }

    GROAT_DEVICE page_table table() const
    {
        return page_table{j.args.page_table, j.args.pitch, j.args.stride};
    }

    // The head is part of the row if pages are [heads, page, depth].
    GROAT_DEVICE static u32 map_head(const place &p)
    {
        return head_page ? 0 : p.head;
    }

    GROAT_DEVICE static u32 first_row(const place &p)
    {
        return head_page ? p.head * page_size : 0;
    }

    // Whether the current tile brings queries along.
    GROAT_DEVICE bool has_queries() const
    {
        return with_queries && tile == 0;
    }

    // Copies the columns of piece `n` of the queries, rows [first, first +
    // q_rows).  With `pair` the bytes count at the even block.
    template <bool pair>
    GROAT_DEVICE void copy_queries(int n, u32 to, u32 bar, u32 first) const
    {
        constexpr int chunks = padded_depth / granule / ring_pieces;

        GROAT_UNROLL
        for (int c = n * chunks; c < (n + 1) * chunks; c++) {
            const int where[3] = {
                c * granule, static_cast<int>(j.head),
                static_cast<int>(j.sequence * j.args.query_count + first)};

            if constexpr (pair)
                tma_load_pair<evict_normal, 3>(j.args.queries,
                                               to + c * (q_rows * swizzle), bar,
                                               where, chosen);
            else
                tma_load<evict_normal, 3>(j.args.queries,
                                          to + c * (q_rows * swizzle), bar,
                                          where, chosen);
        }
    }

    // Copies the first tile of queries on the current piece's barrier, the
    // second on a barrier of its own.
    template <int n> GROAT_DEVICE void bring_queries() const
    {
        copy_queries<leader_counts>(n, j.base, at.template full<n>(),
                                    j.first_query());
        if constexpr (q_tiles == 2) {
            mbarrier_expect(j.q1_bar(n), q_bytes, chosen);
            copy_queries<false>(n, j.base + q1_at, j.q1_bar(n),
                                j.first_query() + q_rows);
        }
    }
};

// ---- boxes ------------------------------------------------------------------

constexpr cache_policy evict = policy == policy_first  ? evict_first
                               : policy == policy_last ? evict_last
                                                       : evict_normal;

template <int> struct box_rows {
    typedef row_indices<tiles> type;
};

template <> struct box_rows<32> {
    typedef lane_rows<tiles> type;
};

// Records the boxes that would be issued: 32 bytes each.
struct note_boxes {
    u64 output;
    u32 slot; // bytes from the ring's start
    u32 bar;  // index of the barrier

    template <int rank>
    GROAT_DEVICE void put(u32 index, u32 offset, const int (&at)[rank],
                          u32 bytes, bool issue) const
    {
        u32 words[5] = {0, 0, 0, 0, 0};
        u64 to = output + static_cast<u64>(index) * 32;

        GROAT_UNROLL
        for (int i = 0; i < rank; i++)
            words[i] = static_cast<u32>(at[i]);
        if (issue) {
            global_store16(to, vec4{slot + offset, bytes, bar, words[0]});
            global_store16(to + 16,
                           vec4{words[1], words[2], words[3], words[4]});
        }
    }
};

template <int lane_count>
struct box_loader : some_loader, by_pieces<box_loader<lane_count>> {
    typedef typename box_rows<lane_count>::type rows_type;

    struct looked {
        place p;
        rows_type rows;
    };

    GROAT_DEVICE explicit box_loader(const job &of) : some_loader(of, elect())
    {
    }

    GROAT_DEVICE looked look(u32 i) const
    {
        looked l;

        l.p = j.at(i);
        l.rows.template populate<BN>(table(), l.p.sequence, l.p.first,
                                     first_row(l.p));
        return l;
    }

    template <int kind, int which, int n> GROAT_DEVICE void piece(const looked &l)
    {
        const tensor_map &map = kind == of_keys ? j.args.keys : j.args.values;
        u32 to = at.template slot_ptr<n>();
        u32 bar = at.template full<n>();

        if constexpr (multicast)
            to += own_bytes<kind>();
        if constexpr (entry == entry_issues) {
            copy<kind, which>(l, note_boxes{note<issue_bytes>(n),
                                            to - at.in.memory,
                                            at.index * ring_pieces + n});
            return;
        }
        arrive<kind, which, n>(l);
        if constexpr (multicast)
            copy<kind, which>(l, tma_copy_multicast<evict>{map, to, bar, 3});
        else if constexpr (leader_counts)
            copy<kind, which>(l, tma_copy_pair<evict>{map, to, bar});
        else
            copy<kind, which>(l, tma_copy<evict>{map, to, bar});
    }

    GROAT_DEVICE void done()
    {
        at.step();
        tile++;
    }

    GROAT_DEVICE void finish() const
    {
    }

  private:
    GROAT_DEVICE static constexpr int sub_of(int which)
    {
        return which % v_copy::sub_tiles;
    }

    // Acquires the piece, sets what its barrier expects, and brings queries.
    template <int kind, int which, int n>
    GROAT_DEVICE void arrive(const looked &l)
    {
        u32 bytes = expected<kind, which>(l.p);

        if (has_queries())
            bytes += q_bytes * (leader_counts ? 2 : 1);
        at.template acquire<n>();
        at.template expect<n>(bytes, chosen && (!leader_counts || j.rank == 0));
        if constexpr (entry == entry_trace)
            note_step(kind, l, which, n, bytes);
        if constexpr (with_queries && kind == of_keys && which == n)
            if (has_queries())
                bring_queries<n>();
    }

    // Bytes that all blocks together copy onto one barrier.
    template <int kind, int which>
    GROAT_DEVICE u32 expected(const place &p) const
    {
        constexpr bool both = multicast || leader_counts;

        if constexpr (kind == of_values)
            return v_boxes::expected(kv_valid_v<tiles, v_copy>(
                       p.keys, p.first, sub_of(which))) *
                   (both ? 2 : 1);
        else if constexpr (both)
            return k_boxes::expected(
                       kv_valid_k<tiles, k_copy>(p.keys, p.first, 0)) +
                   k_boxes::expected(
                       kv_valid_k<tiles, k_copy>(p.keys, p.first, 1));
        else
            return k_boxes::expected(
                kv_valid_k<tiles, k_copy>(p.keys, p.first, j.rank));
    }

    // Where this block's half begins in a piece that both blocks hold.
    template <int kind> GROAT_DEVICE u32 own_bytes() const
    {
        return kind == of_keys
                   ? k_tile::offset(j.rank * (BN / 2), 0)
                   : v_tile::offset(0, j.rank * (v_copy::cols * elem_bytes));
    }

    template <int kind, int which, typename issuer>
    GROAT_DEVICE void copy(const looked &l, const issuer &to) const
    {
        constexpr int sub = sub_of(which);
        constexpr u32 group = which / v_copy::sub_tiles * (v_cols * halves);
        bool issue = lane_count == 32 || chosen;

        if constexpr (kind == of_keys)
            l.rows.template tma_copy_k<k_copy>(
                to, map_head(l.p), which * k_cols,
                kv_valid_k<tiles, k_copy>(l.p.keys, l.p.first, j.rank), issue,
                j.rank);
        else
            l.rows.template tma_copy_v<v_copy>(
                to, map_head(l.p), group + j.rank * v_copy::cols,
                kv_valid_v<tiles, v_copy>(l.p.keys, l.p.first, sub), issue,
                sub);
    }

    static constexpr u32 issue_bytes =
        32 * (k_boxes::pages * k_boxes::count > v_boxes::pages * v_boxes::count
                  ? k_boxes::pages * k_boxes::count
                  : v_boxes::pages * v_boxes::count);

    // Address of a piece's record, `bytes` for each piece of the block.
    template <u32 bytes> GROAT_DEVICE u64 note(u32 n) const
    {
        return j.output(static_cast<u64>(j.tiles_most()) *
                        (2 * parts * ring_pieces * bytes)) +
               (static_cast<u64>(tile) * ring_pieces + n) * bytes;
    }

    GROAT_DEVICE void note_step(u32 kind, const looked &l, u32 which, u32 n,
                                u32 bytes) const
    {
        u64 to = note<32>(n);
        u32 full = at.in.full(at.index, n) - at.in.barriers;
        u32 empty = at.in.empty(at.index, n) - at.in.barriers;

        if (chosen) {
            global_store16(to, vec4{kind, l.p.first / BN, which, at.index});
            global_store16(to + 16, vec4{full / 8, empty / 8, at.parity, bytes});
        }
    }
};

// ---- cells ------------------------------------------------------------------

// The tiles of the last `ahead` slots are in flight; a slot is full once all
// threads have seen their copies land.
template <int threads>
struct cell_loader : some_loader, by_pieces<cell_loader<threads>> {
    typedef key_rows<tiles, threads> rows_type;
    // One slot may be held and one is wanted next; with more in flight, the two
    // sides would wait for each other.
    static constexpr int ahead = slots - 2;

    struct looked {
        place p;
        rows_type rows;
    };

    ring_place<ring> landing;
    u32 thread;
    u32 landed;

    GROAT_DEVICE explicit cell_loader(const job &of)
        : some_loader(of, thread_index() == consumer_threads),
          landing{of.all_slots(), 0, 0},
          thread(thread_index() - consumer_threads), landed(0)
    {
    }

    GROAT_DEVICE looked look(u32 i) const
    {
        looked l;

        l.p = j.at(i);
        l.rows.populate(table(), l.p.sequence, l.p.first, thread,
                        first_row(l.p));
        return l;
    }

    template <int kind, int which, int n> GROAT_DEVICE void piece(const looked &l)
    {
        constexpr int sub = which % v_copy::sub_tiles;
        constexpr u32 group = which / v_copy::sub_tiles * v_cols;
        u32 to = at.template slot_ptr<n>();

        at.template acquire<n>();
        if constexpr (with_queries && kind == of_keys && which == n)
            if (has_queries())
                bring_queries<n>();
        if constexpr (kind == of_keys)
            l.rows.template copy_rows<k_copy, k_rows>(
                cache(j.args.key_rows), to, map_head(l.p), which * k_cols, 0,
                valid_rows(l.p, 0, k_rows), thread);
        else
            l.rows.template copy_rows<v_copy, v_rows>(
                cache(j.args.value_rows), to, map_head(l.p), group,
                sub * v_rows, valid_rows(l.p, sub * v_rows, v_rows), thread);
    }

    GROAT_DEVICE void done()
    {
        async_commit();
        at.step();
        tile++;
        if (tile - landed > ahead) {
            async_wait<0, ahead>();
            land();
        }
    }

    GROAT_DEVICE void finish()
    {
        async_wait<0, 0>();
        while (landed < tile)
            land();
    }

  private:
    GROAT_DEVICE groat::kv_bytes cache(u64 rows) const
    {
        return groat::kv_bytes{rows, j.args.row_bytes, j.args.head_bytes};
    }

    // Valid rows among `most` rows from row `begin` of the tile on: nothing
    // past the last key is read, as there may be no memory.
    GROAT_DEVICE static u32 valid_rows(const place &p, u32 begin, u32 most)
    {
        u32 first = p.first + begin;
        u32 left = p.keys <= first ? 0 : p.keys - first;

        return left < most ? left : most;
    }

    // Signals that the oldest tile in flight has landed.
    GROAT_DEVICE void land()
    {
        bool queries = with_queries && landed == 0 && chosen;

        GROAT_UNROLL
        for (u32 n = 0; n < ring_pieces; n++) {
            u32 full = landing.in.full(landing.index, n);

            mbarrier_expect(full, q_bytes, queries);
            mbarrier_arrive(full, !queries);
        }
        landing.step();
        landed++;
    }
};

template <int> struct loader_of {
    typedef box_loader<lanes> type;
};

template <> struct loader_of<copies_cells> {
    typedef cell_loader<producer_threads> type;
};

} // namespace kv_producer_pipeline
} // namespace groat
