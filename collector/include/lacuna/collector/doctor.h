// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace lacuna::collector {

/// One thing that can or cannot be recorded on this machine, in plain words.
struct Finding {
  enum class State { Works, Limited, Missing };
  std::string id;     ///< stable name for scripts: "nvtx", "cpu_samples", …
  std::string title;  ///< what it is about
  State state = State::Works;
  std::string detail;  ///< what was found
  std::string remedy;  ///< what to do about it; empty when it works or nothing can be done
};

/// Looks at this machine and this user's rights. Changes nothing; loads the driver's libraries if
/// they are there.
std::vector<Finding> examine();

/// A folder that killed runs left, and that nobody can use.
struct Cleaned {
  std::filesystem::path folder;
  std::uint64_t bytes = 0;
  std::string problem;  ///< why it stays; empty when it is gone
};
/// Removes them.
std::vector<Cleaned> cleanUp();
/// One line about them; empty when there are none that are older than a minute.
std::string leftoversHint();

/// "works", "limited" or "missing".
const char* wordFor(Finding::State state);

}  // namespace lacuna::collector
