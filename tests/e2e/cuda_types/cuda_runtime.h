/* SPDX-FileCopyrightText: The Lacuna authors
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* See cuda.h. */
typedef struct cudaArray* cudaArray_t;
typedef struct CUstream_st* cudaStream_t;
