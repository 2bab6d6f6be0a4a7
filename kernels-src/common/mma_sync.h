// SPDX-License-Identifier: Apache-2.0
// Warp-level matrix products on NVIDIA (sm_80 and up); AMD's are in mma.h.
//
//   matrix_load(address)         four matrices of 8 rows of 16 bytes of shared
//                                memory; lane l names row l % 8 of matrix l/8.
//                                Word i has the 4 bytes l % 4 of row l / 4 of
//                                matrix i.
//   matrix_load_transposed       likewise, for 16-bit numbers; word i has
//                                numbers 2 (l % 4) and next of column l / 4
//   matrix_transpose(word)       transposes 8 rows of 8 16-bit numbers; before
//                                and after, lane l has numbers 2 (l % 4) and
//                                2 (l % 4) + 1 of row l / 4
//   mma_16x8<number>(acc, a, b)  acc += A * B: 16 x 8 floats, 32 bytes deep: 16
//                                16-bit or 32 8-bit numbers (these on sm_89 and
//                                up)
//   pack_operand<number>(a, b)   packs two floats as 16-bit numbers, a in the
//                                low half, rounded to nearest even; a NaN
//                                stays a NaN, with any payload
//
// With g = lane / 4, t = lane % 4, and e numbers to a word: word r of A is row
// g + 8 (r % 2), its numbers e t + 4 e (r / 2) and up; word r of B is column g,
// numbers e t + 4 e r and up; acc[p] is row g + 8 (p / 2), column 2 t + p % 2.
// (PTX ISA, matrix fragments of mma.m16n8k16 and m16n8k32.)
#pragma once

#include "convert.h"
#include "vendor.h"

#if defined(__CUDACC_RTC__) || defined(__CUDACC__)
#include "mma_sync_cuda.h"
#elif defined(__HIPCC_RTC__) || defined(__HIP__)
#error common/mma_sync.h is for NVIDIA; those of AMD are in common/mma.h
#else
#include "mma_sync_cpu.h"
#endif
