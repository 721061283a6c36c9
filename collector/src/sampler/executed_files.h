// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "sampler/perf_record.h"

namespace lacuna::collector::sampler {

/// Finds the files that processes execute while these live, as MappedFiles finds those that they
/// map: here the same path may lead to another file.
class ExecutedFiles {
 public:
  /// Gets each file once for each path: `image` as its process names it, and a way that leads to it
  /// during the call.
  using Visit = std::function<void(const std::string& image, const std::string& way)>;
  explicit ExecutedFiles(Visit visit) : visit_(std::move(visit)) {}

  /// To be called with all records of a process, in the order of time.
  void take(const PerfRecord& record);

 private:
  void visit(const PerfRecord& map);

  Visit visit_;
  std::set<std::uint32_t> started_;  ///< processes whose next map is that of what they execute
  std::set<std::tuple<std::string, std::uint64_t, std::uint64_t>> known_;
};

}  // namespace lacuna::collector::sampler
