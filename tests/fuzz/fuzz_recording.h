// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "record/layout.h"

namespace lacuna::fuzz {

/// Gives the one recorder's file of a folder the name 1-0.lcr, and takes the program's name and
/// command line out of it, before a drainer sees it. The drainers' output then has the same length
/// in each process, and patches of the corpus hit the same places.
inline std::filesystem::path makeRecorderPlain(const std::filesystem::path& folder) {
  const std::filesystem::path plain = folder / (std::string("1-0") + prof::recording::kFileSuffix);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != prof::recording::kFileSuffix) continue;
    std::filesystem::rename(entry.path(), plain);
    break;
  }
  const int file = ::open(plain.c_str(), O_WRONLY | O_CLOEXEC);
  for (const std::size_t at :
       {offsetof(prof::recording::Header, name), offsetof(prof::recording::Header, commandLine)}) {
    if (::pwrite(file, "", 1, static_cast<off_t>(at)) != 1) std::abort();
  }
  ::close(file);
  return plain;
}

}  // namespace lacuna::fuzz
