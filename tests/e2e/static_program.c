/* SPDX-FileCopyrightText: The Lacuna authors
 * SPDX-License-Identifier: Apache-2.0 */

#include <stdlib.h>
#include <unistd.h>

/* Linked statically, so nothing can be loaded into it. Sleeps for the number of seconds in its
 * argument. */
int main(int count, char** words) {
  if (count > 1) sleep((unsigned)atoi(words[1]));
  return 9;
}
