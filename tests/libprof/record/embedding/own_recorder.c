/* SPDX-FileCopyrightText: The Lacuna authors
 * SPDX-License-Identifier: Apache-2.0 */

/* A library with a recorder of its own, hidden inside it, as an injected one has. */
#include "own_recorder.h"

#include "lacuna/prof/prof.h"

void recordWithOwnRecorder(int count) {
  const LacunaName name = lacunaName("by the second recorder");
  for (int i = 0; i < count; ++i) {
    lacunaRangePush(name);
    lacunaRangePop();
  }
}
