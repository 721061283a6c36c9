// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "lacuna/prof/result.h"

namespace lacuna::prof {

/// Begins the names of the folders in which a supervisor measures itself, in the folder for
/// temporary files.
inline constexpr const char* kSelfPrefix = "lacuna-self-";

/// A folder that a process which was killed left in shared memory, or among the temporary files.
struct Leftover {
  enum class State : std::uint8_t {
    Orphan,       ///< its recording is gone and nobody writes there: nothing can be made of it
    Recoverable,  ///< its recording is there, and nobody makes it any more
  };
  State state = State::Orphan;
  std::filesystem::path folder;
  std::filesystem::path recording;  ///< to which it belongs or belonged; may be empty
  std::uint64_t bytes = 0;
  bool fresh = false;  ///< changed within the last minute: perhaps somebody is at it
};

/// This user's leftovers. Whatever a living process uses is none. Changes nothing.
std::vector<Leftover> findLeftovers();

/// Removes an orphan, if it is one yet; what no recording makes stays, and is an error.
Status removeLeftover(const Leftover& leftover);

}  // namespace lacuna::prof
