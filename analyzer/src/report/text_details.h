// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/analysis.h"

namespace lacuna::analyzer {

/// Terminal columns of UTF-8 text, as all that is printed here is one column wide, and switching colours none.
int columns(std::string_view text);
/// At most `width` columns on one line, with … where something is left out. Not of styled text.
std::string shortened(std::string_view name, int width);
std::string padded(std::string_view text, int width);
/// Kernels or operators, the rows of a table: where one does not fit, without its scopes. Of names that begin alike and
/// do not fit, most of what they have in common is left out: "vectorized…CUDAFunctor_add<float>, …".
std::vector<std::string> paddedNames(const std::vector<std::string_view>& names, int width);

/// Sections of the text report, line by line without their titles; at most `rows` rows of each table. Empty where the
/// trace has nothing of the sort.
using Lines = std::vector<std::string>;
Lines loaderLines(const Analysis& analysis);
Lines launchLines(const Analysis& analysis, int width, int rows);
Lines rangeLines(const Analysis& analysis, int width, int rows);
Lines memoryLines(const Analysis& analysis, int width, int rows);
Lines communicationLines(const Analysis& analysis, int width, int rows);
Lines copyLines(const Analysis& analysis);
Lines sequenceLines(const Analysis& analysis, int width, int rows);
Lines efficiencyLines(const Analysis& analysis, int width, int rows);
/// Of a tensor that is alive at the peak: how long it has been there ("3 steps", "1.20 ms"), how long it stays ("to the
/// end" of the trace), and what it is called.
std::string ageText(const MemoryStats& memory, std::size_t at);
std::string stayText(const MemoryStats& memory, std::size_t at);
std::string liveName(const LiveTensor& tensor);
/// What a ledger's shares are shares of, and what of the trace is in none; empty without devices.
std::string ledgerWindowLine(const Analysis& analysis);
/// Where time without a cause lies, and what the host did meanwhile; empty where there is hardly any.
std::string unknownLine(const Analysis& analysis);
/// What binds a step, and how much the other parts take; empty without devices.
std::string bottleneckLine(const Analysis& analysis);
/// What recording cost a step; empty where the trace does not say.
std::string overheadLine(const Analysis& analysis);

}  // namespace lacuna::analyzer
