/* SPDX-FileCopyrightText: The Lacuna authors
 * SPDX-License-Identifier: Apache-2.0 */

/* A shared library that records from its constructor and its destructor: before main and after it.
 */
#include "early_library.h"

#include "lacuna/prof/prof.h"

__attribute__((constructor(101))) static void beforeMain(void) {
  lacunaRangePush(lacunaName("before main"));
  lacunaMark(lacunaName("in a constructor"));
  lacunaRangePop();
}

__attribute__((destructor)) static void afterMain(void) {
  lacunaMark(lacunaName("in a destructor"));
}

void recordInLibrary(void) {
  lacunaRangePush(lacunaName("in a shared library"));
  lacunaRangePop();
}
