// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/memory.h"

/// Words that several sections of a report use.
namespace lacuna::analyzer {

/// 0 of nothing.
double ratio(double part, double total);
/// "a step", or "in all" without steps, where figures are of the whole run.
std::string_view perStep(const Analysis& analysis);
/// " (±0.3 %)", or nothing.
std::string inBrackets(std::string_view band);
std::string bandInBrackets(std::int64_t bandNs, std::int64_t ns);
/// The age of a tensor that is alive at the peak ("3 steps", "1.20 ms"), the time that it stays
/// ("to the end" of the trace), and its name.
std::string ageText(const MemoryStats& memory, std::size_t at);
std::string stayText(const MemoryStats& memory, std::size_t at);
std::string liveName(const LiveTensor& tensor);
/// How many replays of graphs lack work, the effect on the report, and the remedy. Empty where none
/// does.
std::string lackingReplays(const Analysis& analysis);

}  // namespace lacuna::analyzer
