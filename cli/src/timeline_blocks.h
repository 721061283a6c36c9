// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace lacuna::cli {

/// Lays out the timeline of a large trace that is whole, and appends it, so that the trace opens at
/// once. A failure is not reported: the trace is then laid out when it is opened. The trace is
/// never left without its end: an interrupt is held meanwhile, and ends the laying out before
/// anything is written. False when there was one.
bool addTimeline(const std::filesystem::path& trace);

}  // namespace lacuna::cli
