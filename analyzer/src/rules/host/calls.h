// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rules/outcome.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "analyses/work/calls.h"
#include "analyses/work/python_lines.h"

namespace lacuna::analyzer {

bool isCopyCall(const CallRow& row);
bool isMemsetCall(const CallRow& row);

/// The synchronising calls of all steps; `andCopies` includes calls that wait until they have
/// copied or set memory.
std::uint64_t syncCalls(const Analysis& analysis, bool andCopies);

/// The unclaimed call of an activity that takes most of the steps, as a call that takes longest may
/// belong to the set-up; null where there is none.
const CallRow* costliestCall(const Facts& facts, Activity activity);

/// The unclaimed call or operator that the device waited for longest of a cause; null where that
/// has no name. Those in `except` are no candidates.
const CauseDetail* longestWait(const Facts& facts, Cause cause,
                               std::span<const std::string_view> except = {});

/// The lines of Python that a cost is mostly of, where samples of them were recorded.
std::vector<PythonStretch> linesBehind(const Facts& facts, std::int64_t nsPerStep,
                                       IdleTime counted);
/// Puts them into the title, and their longest stretches in front of the evidence.
void nameLines(const Facts& facts, Finding& finding, const std::vector<PythonStretch>& lines);

/// Copies or memsets that hold the caller until they are done: the time that they take of a step,
/// and a claim on them.
void findBlockingCalls(const Facts& facts, Outcome& out, bool (*isOne)(const CallRow& row),
                       const Threshold& least, const Confidence& confidence,
                       std::string_view advice);

}  // namespace lacuna::analyzer
