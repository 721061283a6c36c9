// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "lacuna/prof/recording.h"
#include "lacuna/prof/result.h"

namespace lacuna::collector {

/// prof::recover() for what run() or a Session left, with the names of the call stacks that had
/// been sampled. They are looked up now, in the programs and libraries as they are found on this
/// machine.
prof::Result<prof::DrainStats> recover(const std::filesystem::path& directory,
                                       const std::filesystem::path& output, bool keep = false,
                                       prof::Existing existing = prof::Existing::Replace);

}  // namespace lacuna::collector
