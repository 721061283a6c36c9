/* SPDX-FileCopyrightText: The Lacuna authors
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* See cuda.h. */
#include "driver_types.h"

typedef struct cudaArray* cudaArray_t;
