// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

/// An NVTX tool that enters a program of its own and counts the program's reports. When the program
/// ends, it writes lines of a name and a number to the file that LACUNA_TEST_COUNTS names. "live"
/// lines are the bytes that were held when a step began, those of batches aside.
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>

#include "runtime/instrument/tool.h"

const bool tool::kTakesCompleteOperators = false;

namespace {

class Counts {
 public:
  void take(const tool::Event& event) {
    if (event.form == "pop") return;
    ++counts_[event.category];
    if (event.payload == LACUNA_RT_OPERATOR_SCHEMA) ++counts_["operator " + event.message];
    if (event.payload == LACUNA_RT_MEMORY_SCHEMA) takeMemory(event);
    if (event.payload == LACUNA_RT_STEP_SCHEMA) live_.push_back(held_);
    if (event.payload == LACUNA_RT_LOADER_SCHEMA)
      ++counts_[event.message + " by " + std::to_string(event.numbers.at("worker"))];
    if (event.payload == LACUNA_RT_KNOB_SCHEMA)
      ++counts_[event.texts.at("name") + "=" + event.texts.at("value")];
  }

  void write(std::ofstream& out) const {
    for (const auto& [name, count] : counts_) out << name << '\t' << count << '\n';
    for (const std::int64_t bytes : live_) out << "live\t" << bytes << '\n';
    out << "peak\t" << peak_ << '\n';
    std::int64_t cpuNs = 0;
    for (const auto& [name, value] : tool::samples()) {
      if (name == LACUNA_RT_COUNTER_LOADER_CPU) cpuNs = std::max(cpuNs, value);
    }
    out << "loader cpu ns\t" << cpuNs << '\n';
  }

 private:
  void takeMemory(const tool::Event& event) {
    // The number of batches ahead is a matter of time.
    if (event.numbers.at("role") == LACUNA_RT_ROLE_INPUT) return;
    const std::int64_t bytes = event.numbers.at("bytes");
    switch (event.numbers.at("action")) {
      case LACUNA_RT_MEMORY_ALLOCATE:
        peak_ = std::max(peak_, held_ += bytes);
        ++counts_["tensor " + event.texts.at("tensor")];
        break;
      case LACUNA_RT_MEMORY_FREE:
        held_ -= bytes;
        break;
      case LACUNA_RT_MEMORY_RELEASE:
        ++counts_["release"];
        break;
      default:
        break;
    }
  }

  std::map<std::string, std::int64_t> counts_;
  std::vector<std::int64_t> live_;
  std::int64_t held_ = 0;
  std::int64_t peak_ = 0;
};

void writeCounts() {
  const char* path = std::getenv("LACUNA_TEST_COUNTS");
  if (path == nullptr) return;
  Counts counts;
  for (const tool::Event& event : tool::events()) counts.take(event);
  std::ofstream out(path);
  counts.write(out);
}

}  // namespace

extern "C" {
extern NvtxInitializeInjectionNvtxFunc_t InitializeInjectionNvtx2_fnptr;
extern NvtxExtInitializeInjectionFunc_t InitializeInjectionNvtxExtension_fnptr;

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t exportTable) {
  std::atexit(writeCounts);
  return InitializeInjectionNvtx2_fnptr(exportTable);
}
__attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(
    nvtxExtModuleInfo_t* module) {
  return InitializeInjectionNvtxExtension_fnptr(module);
}
}
