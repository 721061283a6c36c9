/* SPDX-FileCopyrightText: The Lacuna authors
 * SPDX-License-Identifier: Apache-2.0 */

/* c_session FILE: a C program that records itself: two sessions, misuse between them, and a child
 * that must not stop what its parent started. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lacuna/prof/prof.h"
#include "lacuna/prof/session_c.h"

static int complain(const char* what) {
  fprintf(stderr, "%s: %s\n", what, lacunaSessionError());
  return 1;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  if (lacunaSessionFlush() != -1 || lacunaSessionStop() != -1)
    return complain("no session, and no error");
  if (lacunaSessionStart("", NULL) != -1) return complain("no file, and no error");
  if (lacunaSessionStart("/proc/nowhere/run.lcn", NULL) != -1 ||
      strstr(lacunaSessionError(), "/proc/nowhere") == NULL) {
    return complain("a place that cannot be written, and no error that names it");
  }
  const LacunaSessionOptions options = {1 << 20, 8 << 20, 0};
  if (lacunaSessionStart(argv[1], &options) != 0) return complain("start");
  if (lacunaSessionStart(argv[1], NULL) != -1)
    return complain("a second session at a time, and no error");
  lacunaRangePush(lacunaName("in a session"));
  lacunaRangePop();
  if (lacunaSessionFlush() != 0) return complain("flush");
  const pid_t child = fork();
  if (child == 0) _exit(lacunaSessionStop());
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0) return complain("stop in a child");
  lacunaMark(lacunaName("still recording"));
  if (lacunaSessionStop() != 0) return complain("stop");
  lacunaMark(lacunaName("after the end"));
  return 0;
}
