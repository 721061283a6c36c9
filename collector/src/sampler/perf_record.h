// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lacuna/prof/ids.h"

namespace lacuna::collector::sampler {

/// One record of what the kernel reports about a process tree. Window is of our own making.
struct PerfRecord {
  enum class Kind { Sample, Switch, Fork, Exit, Comm, Map, Lost, Window };
  Kind kind = Kind::Lost;
  prof::TimeNs timeNs = 0;
  std::uint32_t pid = 0;
  std::uint32_t tid = 0;
  std::uint32_t cpu = 0;
  std::uint32_t parentPid = 0;  ///< Fork
  bool out = false;             ///< Switch: off the core
  bool preempted = false;       ///< Switch: it could have gone on
  bool exec = false;            ///< Comm: by an exec
  bool open = false;            ///< Window: from here on what happens is recorded
  std::uint64_t address = 0;    ///< Map
  std::uint64_t length = 0;
  std::uint64_t offset = 0;
  std::uint64_t device = 0;  ///< Map, and of `image`: as in symbols::ModuleFile
  std::uint64_t inode = 0;
  std::string buildId;         ///< as MappedFiles found it
  std::uint64_t lost = 0;      ///< Lost
  std::uint64_t weightNs = 0;  ///< Sample: CPU time, where it is not the period
  std::string text;            ///< Comm: name; Map: file; Lost: why, where it is not the kernel
  std::string image;           ///< Comm by an exec: the file, where no Map names it
  bool stranger = false;       ///< Comm by an exec: its environment does not name the recording
  std::string commandLine;     ///< Comm by an exec: read while it ran that image; else empty
  prof::TimeNs lineNs = 0;     ///< when it had been read
  std::vector<std::uint64_t> frames;  ///< Sample: the instruction, then return addresses, outwards
};

/// The fields of sample_type that perf_ring.cpp asks for: tid, time, cpu; and the call chain in
/// samples. Decodes one record, header included. False for kinds of no interest and for bytes that
/// are no record.
bool decodePerfRecord(std::span<const std::byte> bytes, PerfRecord& out);

}  // namespace lacuna::collector::sampler
