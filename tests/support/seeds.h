// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

namespace lacuna::test {

// How many random cases a property is tried on. Whether it holds is found without a sanitizer,
// which takes ten times as long and needs few of them to pass everywhere.
constexpr unsigned seeds(unsigned count) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr unsigned kFewer = 5;
  return (count + kFewer - 1) / kFewer;
#else
  return count;
#endif
}

}  // namespace lacuna::test
