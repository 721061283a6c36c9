/* SPDX-FileCopyrightText: The Lacuna authors
 * SPDX-License-Identifier: Apache-2.0 */

/* A C program that uses all of the C interface, with a library that records before main and one
 * that keeps a recorder of its own. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#include "early_library.h"
#include "lacuna/prof/prof.h"
#include "own_recorder.h"

static uint64_t gStarted;

static void* endElsewhere(void* unused) {
  lacunaThreadName(lacunaName("the other thread"));
  lacunaRangeEnd(gStarted);
  lacunaFlow(7, LacunaFlowEnd, lacunaName("hand-over"), 0);
  return unused;
}

int main(void) {
  if (!lacunaIsRecording()) {
    if (lacunaAttach(NULL) == -EPERM) return 5;
    fprintf(stderr, "nothing records: is LACUNA_RECORDING set?\n");
    return 2;
  }
  const LacunaName domain = lacunaName("c");
  lacunaThreadName(lacunaName("the main thread"));
  lacunaRangePush(lacunaName("outer"));
  lacunaDomainRangePush(
      domain, lacunaSite(lacunaName("in a domain"), domain, lacunaName("kind"), 0xff336699u));
  lacunaDomainRangePop(domain);
  LacunaEvent event = {0};
  event.name = lacunaName("with a payload");
  event.payloadType = LacunaPayloadI64;
  event.payload = (uint64_t)-5;
  lacunaRangePushEvent(&event);
  lacunaRangePop();
  lacunaRangePop();

  event.name = lacunaName("across threads");
  event.payloadType = LacunaPayloadNone;
  gStarted = lacunaRangeStart(&event);
  lacunaFlow(7, LacunaFlowBegin, lacunaName("hand-over"), 0);
  pthread_t thread;
  if (pthread_create(&thread, NULL, endElsewhere, NULL) != 0) return 3;
  pthread_join(thread, NULL);

  const uint32_t track = lacunaCounterTrack(lacunaName("temperature"), lacunaName("K"));
  lacunaCounter(track, 273.25);
  lacunaAllocate(0x1000, 4096, lacunaName("buffer"), 0);
  lacunaFree(0x1000);
  lacunaLog(2, lacunaName("c program"), lacunaName("a warning"));
  recordInLibrary();
  recordWithOwnRecorder(100);
  lacunaMark(lacunaName("between"));
  recordWithOwnRecorder(100);
  return lacunaDropped() == 0 ? 0 : 4;
}
