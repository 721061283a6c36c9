// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "lacuna/prof/result.h"

namespace lacuna::prof {

/// The limit on what a reader may make of a file. A few bytes can claim rows without end, or unpack
/// to text without end; a reader asks the budget before it makes them. The limit grows with the
/// size of the file, and is the same for all small files.
class Budget {
 public:
  enum class Item : std::uint8_t {
    Rows,     ///< of all tables
    Strings,  ///< texts of a trace
    Text,     ///< bytes that a compressed file unpacks to
    Values,   ///< of a pickle
    Tracks,   ///< lines of a timeline
  };
  static constexpr std::size_t kItems = 5;

  /// The one of this process: the usual one, or what LACUNA_BUDGET or setOfProcess() made of it.
  /// Thread-safe once it is set.
  static const Budget& ofProcess();
  static void setOfProcess(const Budget& budget);

  /// "rows=20M,text=4G": items with what every file may have of them, in numbers that may end in k,
  /// M or G (thousands, millions, …). Changes nothing where it fails.
  Status raise(std::string_view text);

  /// The most that a file of so many bytes may have.
  [[nodiscard]] std::uint64_t most(Item item, std::uint64_t fileBytes) const;
  /// An error that names the file, the item, the limit and the remedy, where `wanted` is beyond it.
  [[nodiscard]] Status allow(Item item, std::uint64_t wanted, const std::filesystem::path& path,
                             std::uint64_t fileBytes) const;

 private:
  struct Limit {
    std::uint64_t least;        ///< for every file
    std::uint64_t perByte;      ///< for a large one
    std::uint64_t inBytes = 1;  ///< how many bytes give that
  };
  [[nodiscard]] const Limit& of(Item item) const { return limits_[static_cast<std::size_t>(item)]; }

  /// Well beyond what real traces have. Recordings of nothing but equal ranges take 0.4 bytes a
  /// row, others 3. The JSON of a profiler unpacks to 15 times its size. A snapshot has a value for
  /// each 6 bytes that it unpacks to. A track takes 1.6 kB of memory.
  std::array<Limit, kItems> limits_{
      {{4'000'000, 6}, {4'000'000, 2}, {256'000'000, 100}, {4'000'000, 8}, {100'000, 1, 64}}};
};

}  // namespace lacuna::prof
