/* SPDX-FileCopyrightText: The Lacuna authors
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* All that NVTX's header of CUDA's memory wants of CUDA, so that its calls are tested where CUDA is not. */
typedef struct CUarray_st* CUarray;
