/* SPDX-FileCopyrightText: The Lacuna authors
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Sleeps until the file that the environment variable LINGER names has been replaced twice, half a
 * minute each at most: the state of the recording, which its supervisor saves every two seconds.
 * The supervisor has then seen all that the caller did before, however long it was held up. Without
 * LINGER it comes back at once. */
static void linger(void) {
  const char* file = getenv("LINGER");
  for (int changes = 0; file != NULL && changes < 2; ++changes) {
    struct stat before = {0}, after = {0};
    stat(file, &before);
    for (int i = 0; i < 3000; ++i) {
      usleep(10000);
      if (stat(file, &after) == 0 &&
          (after.st_ino != before.st_ino || after.st_mtim.tv_nsec != before.st_mtim.tv_nsec))
        break;
    }
  }
}
