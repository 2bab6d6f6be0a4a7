/* SPDX-License-Identifier: Apache-2.0
 *
 * order.h - what comes before what.
 */
#ifndef GROAT_JUDGE_ORDER_H
#define GROAT_JUDGE_ORDER_H

#include "judge/model.h"

/* Counts with more than barriers from here on; free to ask again. */
void groat__judge_clocks_on(groat__judge *j);
/* Room for one more mbarrier's clock in all clocks. */
void groat__judge_clocks_widen(groat__judge *j);
uint32_t *groat__judge_clock(const groat__judge *j, size_t fiber);
/* `into` learns what `from` knows. */
void groat__judge_clock_join(const groat__judge *j, uint32_t *into,
                             const uint32_t *from);
/* Whatever this fiber did comes before what it does next. */
void groat__judge_tick(groat__judge *j, size_t fiber);
/* Every fiber of [first, end), of which mask names some by their number from
 * first (0: all), learns what the others know. */
void groat__judge_clock_sync(groat__judge *j, size_t first, size_t end,
                             uint64_t mask);
/* The number of this fiber's present in its own clock. */
uint32_t groat__judge_now(const groat__judge *j, size_t fiber);
/* Agents: whoever reads and writes in an order of its own. */
uint32_t groat__judge_agent(const groat__judge *j, size_t fiber);
uint32_t groat__judge_agent_fenced(const groat__judge *j, uint32_t thread);
uint32_t groat__judge_agent_wgmma(const groat__judge *j, size_t wave);
uint32_t groat__judge_agent_barrier(const groat__judge *j, size_t barrier);
bool groat__judge_is_thread(const groat__judge *j, uint32_t agent);
bool groat__judge_is_barrier(const groat__judge *j, uint32_t agent);
/* Does the current fiber know what the agent did then? */
bool groat__judge_knows(const groat__judge *j, uint32_t agent, uint32_t clock);
/* The list with this reader added. */
uint32_t groat__judge_add_reader(groat__judge *j, uint32_t list, uint32_t agent,
                                 uint32_t clock, int32_t site);
void groat__judge_forget_readers(groat__judge *j);

#endif
