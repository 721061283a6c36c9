/* SPDX-FileCopyrightText: The Lacuna authors
 * SPDX-License-Identifier: Apache-2.0 */

#include <stdlib.h>
#include <unistd.h>

/* Linked statically, so nothing can be loaded into it. Sleeps for as many seconds as the argument says. */
int main(int count, char** words) {
  if (count > 1) sleep((unsigned)atoi(words[1]));
  return 9;
}
