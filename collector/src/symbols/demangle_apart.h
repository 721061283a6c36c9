// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

namespace lacuna::collector::symbols {

struct DemangleLimits {
  std::chrono::milliseconds one{2'000};                 ///< for one symbol
  std::chrono::milliseconds all{10'000};                ///< for all of them
  std::uint64_t bytes = std::uint64_t{64} << 20;        ///< of all plain names
  std::uint64_t moreMemory = std::uint64_t{256} << 20;  ///< of a child
};

struct PlainNames {
  std::unordered_map<std::string, std::string> names;  ///< by symbol, those that were found
  std::size_t left = 0;  ///< symbols that went beyond a limit, or were not reached in time
};

/// The plain names that demangled() makes of symbols that come from outside. Children do the work,
/// so that no symbol can crash or bloat this process or hold it up for longer than the limits.
/// Symbols and plain names of more than 64 KiB are left. Takes the time and the bytes that it
/// needed from the limits, which several calls can so share.
PlainNames demangleApart(const std::set<std::string_view>& symbols, DemangleLimits& limits);

}  // namespace lacuna::collector::symbols
