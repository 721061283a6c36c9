// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "lacuna/prof/place_file.h"
#include "lacuna/prof/result.h"

/// For files that appear whole or not at all, also where the machine loses its power. A draft is
/// written beside the file, and takes its name when it is finished.
namespace lacuna::prof {

/// Makes an empty draft. Never writes through a link of that name: that, or what a killed process
/// left, is removed.
Status createDraft(const std::filesystem::path& draft);

/// Brings the draft onto the disk, gives it the name `path` in one step, and brings that onto the
/// disk too. A file that had the name stays as it was until then, and where this fails before. The
/// draft is the caller's to remove then.
Status publishDraft(const std::filesystem::path& draft, const std::filesystem::path& path,
                    Existing existing = Existing::Replace);

/// The same under a free name, as placeFileFree() chooses it. Answers the name.
Result<std::filesystem::path> publishDraftFree(const std::filesystem::path& draft,
                                               const FileNames& names);

}  // namespace lacuna::prof
