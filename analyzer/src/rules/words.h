// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lacuna::analyzer {

inline constexpr double kPercent = 100;

/// "1.23 ms", "45.6 µs", "2.10 s"
std::string humanTime(std::int64_t ns);
/// "1.5 MiB"
std::string humanBytes(std::uint64_t bytes);
/// "12.3 %"
std::string humanShare(double share);
/// "1 copy", "2 copies"; without a plural of its own "s" makes it.
std::string humanCount(std::uint64_t count, std::string_view one, std::string_view several = {});
/// A kernel's name without its return type, template arguments and parameters.
std::string plainName(std::string_view kernel);

}  // namespace lacuna::analyzer
