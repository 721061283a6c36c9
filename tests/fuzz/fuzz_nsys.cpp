// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

// Bytes that claim to be an export of Nsight Systems.
#include "fuzz_import.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lacuna::analyzer;
  checkImported(importNsys(fuzzFile(data, size), {}));
  return 0;
}
