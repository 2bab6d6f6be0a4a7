/* SPDX-License-Identifier: Apache-2.0
 *
 * host.c feeds and checks kv_buffer_reg for `groat run` with the shared driver
 * driver/kv_driver.c, as its entries have the same buffers and results.
 * It is C instead of a run.def, whose reference.c needs a compiler: this family
 * is verified on hosts that have none.
 */
#include "../driver/kv_host.h"

const groat_driver groat_driver_kv_buffer_reg = {
    "kv_buffer_reg", groat__kv_arguments, groat__kv_plan,  groat__kv_fill,
    groat__kv_bind,  groat__kv_expect,    groat__kv_bound, NULL,
};
