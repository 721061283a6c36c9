// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "lacuna/collector/run.h"
#include "lacuna/prof/place_file.h"
#include "lacuna/prof/recording.h"
#include "lacuna/prof/result.h"

namespace lacuna::collector {

/// The trace that a run will write, and the folder of its recording, which is made.
struct ClaimedPlace {
  std::filesystem::path output, recording;
};

/// Claims the trace that the options name; without one, a free name after the program. Nothing is
/// touched that is there.
prof::Result<ClaimedPlace> claimPlace(const RunOptions& options, const prof::RecordingOptions& how);

/// Whether the trace may take the name of another file.
prof::Existing existingOf(const RunOptions& options);

}  // namespace lacuna::collector
