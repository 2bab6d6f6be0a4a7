/* SPDX-License-Identifier: Apache-2.0
 *
 * Launch arguments of kv_buffer_lds: struct kv_args.
 */
#pragma once

#include "../common/kv_args.h"
