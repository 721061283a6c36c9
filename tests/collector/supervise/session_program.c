/* SPDX-FileCopyrightText: The Lacuna authors
 * SPDX-License-Identifier: Apache-2.0 */

/* A program that records itself twice, with an annotation between the sessions that must be in
 * neither trace. The second session asks for what it cannot have. */
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lacuna/collector/session_c.h"
#include "lacuna/prof/prof.h"

static void work(const char* name) {
  nvtxRangePushA(name);
  nvtxRangePop();
  lacunaRangePush(lacunaName("through prof.h"));
  lacunaRangePop();
}

int main(int argc, char** argv) {
  (void)argc;
  for (int i = 1; i <= 2; ++i) {
    if (lacunaCollectorStart(argv[i], i == 1 ? "nvtx,cuda" : "nvtx,samples,counters") != 0) {
      fprintf(stderr, "%s\n", lacunaCollectorError());
      return 1;
    }
    const char* notes = lacunaCollectorNotes();
    if (i == 1 && *notes != 0) return 4;
    if (i == 2 &&
        (strstr(notes, "--trace samples") == NULL || strstr(notes, "--trace counters") == NULL))
      return 5;
    work(i == 1 ? "first" : "second");
    if (lacunaCollectorStart(argv[i], NULL) == 0) return 2;
    const pid_t child = fork();
    if (child == 0) {
      work("in the child");
      _exit(0);
    }
    waitpid(child, NULL, 0);
    if (lacunaCollectorStop() != 0) return 3;
    work("between");
  }
  return lacunaCollectorStop();
}
