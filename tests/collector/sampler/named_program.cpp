// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
// A small program with symbols, debug information and a build id, for names_test to read the names
// of.

int main(int count, char**) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += i * count;
  return sum == 0 ? 0 : 1;
}
