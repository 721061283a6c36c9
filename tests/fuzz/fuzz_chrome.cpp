// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

// Bytes that claim to be a trace in Chrome's format.
#include "fuzz_import.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lacuna::analyzer;
  checkImported(importChrome(fuzzFile(data, size), {}, {.windowBytes = 256}));
  return 0;
}
