// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/prof/mapping_guard.h"
#include "lacuna/prof/process.h"
#include "sampler/perf_record.h"
#include "sampler/scan.h"
#include "timer/ring.h"

namespace lacuna::collector::timer {

/// Code in a process, as a line of /proc/PID/maps gives it.
struct CodePiece {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t offset = 0;
  std::uint64_t device = 0;  ///< as in symbols::ModuleFile
  std::uint64_t inode = 0;
  std::string path;
};
/// The lines that hold code; what is no such line is left out.
std::vector<CodePiece> parseMaps(std::string_view text);

/// Takes what processes that sample themselves have written down, and reports it as the kernel
/// would.
class Rings {
 public:
  /// `scan` outlives it, and learns which processes are here and what CPU time their samples stand
  /// for.
  Rings(std::filesystem::path folder, proc::Scan& scan) : folder_(std::move(folder)), scan_(scan) {}
  void update(prof::TimeNs nowNs, std::vector<sampler::PerfRecord>& into);
  /// Threads that are not sampled because the kernel gave them no timer.
  [[nodiscard]] std::uint64_t untimed() const;

 private:
  struct Unmap {
    void operator()(Ring* ring) const;
  };
  struct Source {
    std::filesystem::path path;
    std::unique_ptr<Ring, Unmap> ring;
    prof::MappingGuard guard;  ///< ends before the mapping does
    prof::OwnNumber self;      ///< the process as it numbers itself
    prof::FoundProcess::Where where = prof::FoundProcess::Where::Here;
    std::uint32_t pid = 0;  ///< here, or its own where that is unknown
    std::map<std::uint32_t, std::uint32_t>
        ownTids;  ///< of another namespace: threads here by their own numbers
    std::uint64_t tail = 0;
    std::uint64_t dropped = 0;
    std::uint32_t mapsTurn = 0;
    prof::TimeNs mapsReadNs = 0;
    prof::TimeNs lastNs = 0;      ///< of its samples
    std::vector<CodePiece> code;  ///< by address
    std::set<std::uint32_t> threads;
  };
  void findNew(prof::TimeNs nowNs, std::vector<sampler::PerfRecord>& into);
  bool open(const std::filesystem::path& path, prof::TimeNs nowNs,
            std::vector<sampler::PerfRecord>& into);
  static bool hasEnded(const Source& source);
  static std::uint32_t tidOf(Source& source, std::uint32_t ownTid);
  void drain(Source& source, prof::TimeNs nowNs, std::vector<sampler::PerfRecord>& into);
  void end(Source& source, prof::TimeNs nowNs, bool gone, std::vector<sampler::PerfRecord>& into);
  void addSample(Source& source, const Sample& sample, prof::TimeNs nowNs,
                 std::vector<sampler::PerfRecord>& into);
  void learnCode(Source& source, std::string_view maps, prof::TimeNs timeNs,
                 std::vector<sampler::PerfRecord>& into);
  bool refreshCode(Source& source, prof::TimeNs timeNs, prof::TimeNs nowNs,
                   std::vector<sampler::PerfRecord>& into);

  std::filesystem::path folder_;
  proc::Scan& scan_;
  std::vector<std::unique_ptr<Source>> sources_;
  std::uint64_t untimed_ = 0;  ///< of processes that have ended
};

}  // namespace lacuna::collector::timer
