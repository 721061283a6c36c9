// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "import/importers.h"

namespace lacuna::analyzer {

/// Checks the result that every importer must give: a store whose rows name only ids that exist (or
/// none). Lengths are not negative, and every text can be read.
inline void checkImported(const StoreResult& store) {
  if (!store.ok()) {
    if (store.error().message.empty()) std::abort();
    return;
  }
  prof::forEachTable([&]<class Row>() {
    for (std::uint64_t i = 0; i < (*store)->rows<Row>(); ++i) {
      const Row row = (*store)->row<Row>(i);
      Row::forEachMember([&]<auto Member>() {
        const auto& value = row.*Member;
        using T = std::remove_cvref_t<decltype(value)>;
        if constexpr (std::is_same_v<T, prof::StringId>) (void)(*store)->text(value);
        if constexpr (std::is_same_v<T, prof::ThreadId>) {
          if (value.value > (*store)->rows<prof::Thread>()) std::abort();
        }
        if constexpr (std::is_same_v<T, prof::QueueId>) {
          if (value.value > (*store)->rows<prof::Queue>()) std::abort();
        }
        if constexpr (std::is_same_v<T, prof::DeviceId>) {
          if (value.value > (*store)->rows<prof::Device>()) std::abort();
        }
      });
      if constexpr (requires { row.durNs; }) {
        if (row.durNs < 0) std::abort();
      }
    }
  });
}

/// A file that holds the input, in memory where there is such a place.
inline const std::filesystem::path& fuzzFile(const std::uint8_t* data, std::size_t size) {
  static const std::filesystem::path kPath = [] {
    std::string name = (std::filesystem::exists("/dev/shm") ? "/dev/shm" : "/tmp") +
                       std::string("/lacuna-fuzz-XXXXXX");
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    return std::filesystem::path(name) / "input";
  }();
  // With what SQLite puts beside it.
  static const int kRemoved = std::atexit([] {
    std::error_code error;
    std::filesystem::remove_all(kPath.parent_path(), error);
  });
  (void)kRemoved;
  std::ofstream(kPath, std::ios::binary | std::ios::trunc)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  return kPath;
}

}  // namespace lacuna::analyzer
