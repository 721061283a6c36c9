/* SPDX-FileCopyrightText: The Lacuna authors
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* All that NVTX's headers want of CUDA, so that their calls are tested where CUDA is not. */
typedef struct CUarray_st* CUarray;
typedef int CUdevice;
typedef struct CUctx_st* CUcontext;
typedef struct CUstream_st* CUstream;
typedef struct CUevent_st* CUevent;
