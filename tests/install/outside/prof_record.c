/* SPDX-FileCopyrightText: The Lacuna authors
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "lacuna/prof/prof.h"

int main(void) {
  const LacunaName name = lacunaName("forward");
  lacunaRangePush(name);
  lacunaRangePop();
  printf("recording: %d, the name has the id %u\n", lacunaIsRecording(), (unsigned)name);
  return name != 0 && name == lacunaName("forward") && !lacunaIsRecording() ? 0 : 1;
}
