/* SPDX-FileCopyrightText: The Lacuna authors
 * SPDX-License-Identifier: Apache-2.0 */

/* Linked statically, so nothing can be loaded into it. */
int main(void) {
  return 9;
}
