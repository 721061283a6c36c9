// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "sampler/perf_record.h"
#include "symbols/module_file.h"

namespace lacuna::collector::sampler {

/// The file that a record of Kind::Map names, by one of the ways that lead to it; -1 where none
/// does any more. The descriptor is the caller's.
int openMapped(const PerfRecord& map);

/// Finds the files that processes map, while these live. A process may have another root, or
/// another file system in a folder, so its paths may lead to other files here.
class MappedFiles {
 public:
  MappedFiles() = default;
  MappedFiles(const MappedFiles&) = delete;
  MappedFiles& operator=(const MappedFiles&) = delete;
  ~MappedFiles();

  /// Gives a record of Kind::Map the build id of its file, if that is to be found.
  void learn(PerfRecord& map);
  /// The file, where its path does not lead to it from here; else -1. It stays this one's.
  [[nodiscard]] int fileOf(const symbols::ModuleFile& module) const;

 private:
  struct Known {
    std::string buildId;
    int fd = -1;
  };
  using Key = std::tuple<std::string, std::uint64_t, std::uint64_t>;
  Known find(const PerfRecord& map);

  std::map<Key, Known> known_;
  std::size_t kept_ = 0;
};

}  // namespace lacuna::collector::sampler
