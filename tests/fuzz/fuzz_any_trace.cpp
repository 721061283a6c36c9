// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

// Any bytes as a trace of any kind, sent through everything that a user can ask of a trace.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string_view>

#include "fuzz_import.h"
#include "support/trace_faults.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::filesystem::path& file = lacuna::analyzer::fuzzFile(data, size);
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string fault =
      lacuna::test::faultOfFile(file, file.parent_path(), std::hash<std::string_view>()(bytes));
  if (fault.empty()) return 0;
  std::fprintf(stderr, "fuzz_any_trace: %s\n", fault.c_str());
  std::abort();
}
