// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "lacuna/prof/place_file.h"
#include "lacuna/prof/reader.h"
#include "lacuna/prof/result.h"

namespace lacuna::prof {

struct RecoverSummary {
  std::uint64_t blocks = 0;    ///< copied
  std::uint64_t rows = 0;      ///< in them
  bool wasComplete = false;    ///< the file had its end
  std::vector<Damage> damage;  ///< what is not in the new file
};

/// Makes a finished file out of what is whole in a damaged or unfinished one. Blocks are copied as
/// they stand, also those of tables and kinds that this version does not know. `from` is not
/// changed, and must not be `to`.
Result<RecoverSummary> recoverFile(const std::filesystem::path& from,
                                   const std::filesystem::path& to,
                                   Existing existing = Existing::Replace);

}  // namespace lacuna::prof
