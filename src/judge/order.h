/* SPDX-License-Identifier: Apache-2.0
 *
 * order.h - the happens-before order of accesses.
 */
#ifndef GROAT_JUDGE_ORDER_H
#define GROAT_JUDGE_ORDER_H

#include "judge/model.h"

/* Switches from barrier epochs to vector clocks; idempotent and cheap. */
void groat__judge_clocks_on(groat__judge *j);
/* Makes room for one more mbarrier in all vector clocks. */
void groat__judge_clocks_widen(groat__judge *j);
uint32_t *groat__judge_clock(const groat__judge *j, size_t fiber);
/* Raises `into` to the maximum of both clocks, entry by entry. */
void groat__judge_clock_join(const groat__judge *j, uint32_t *into,
                             const uint32_t *from);
/* Advances the fiber's own clock. */
void groat__judge_tick(groat__judge *j, size_t fiber);
/* Joins the clocks of the fibers [first, end) and advances each.  Bit n of mask
 * selects fiber first + n; 0 selects all. */
void groat__judge_clock_sync(groat__judge *j, size_t first, size_t end,
                             uint64_t mask);
/* The fiber's current time: its entry in its own clock, or its block's epoch.
 */
uint32_t groat__judge_now(const groat__judge *j, size_t fiber);
/* Numbers of agents; order.c says what an agent is. */
uint32_t groat__judge_agent(const groat__judge *j, size_t fiber);
uint32_t groat__judge_agent_fenced(const groat__judge *j, uint32_t thread);
uint32_t groat__judge_agent_wgmma(const groat__judge *j, size_t wave);
uint32_t groat__judge_agent_stores(const groat__judge *j, size_t fiber);
uint32_t groat__judge_agent_barrier(const groat__judge *j, size_t barrier);
bool groat__judge_is_thread(const groat__judge *j, uint32_t agent);
bool groat__judge_is_barrier(const groat__judge *j, uint32_t agent);
/* Whether the agent's access at `clock` happens before the current fiber. */
bool groat__judge_knows(const groat__judge *j, uint32_t agent, uint32_t clock);
/* Returns the list with this reader added. */
uint32_t groat__judge_add_reader(groat__judge *j, uint32_t list, uint32_t agent,
                                 uint32_t clock, int32_t site);
void groat__judge_forget_readers(groat__judge *j);

#endif
