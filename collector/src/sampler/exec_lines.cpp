// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "sampler/exec_lines.h"

#include <map>

#include "core/clock.h"
#include "lacuna/prof/recording.h"
#include "proc/proc_file.h"

namespace lacuna::collector::sampler {
namespace {

bool isExec(const PerfRecord& record) {
  return record.kind == PerfRecord::Kind::Comm && record.exec;
}

}  // namespace

void readExecLine(PerfRecord& exec) {
  exec.commandLine = proc::commandLineOf(exec.pid);
  exec.stranger = proc::lacksVariable(exec.pid, prof::kRecordingVariable);
  exec.lineNs = nowNs();
}

bool readExecLines(std::vector<PerfRecord>& records, std::size_t from) {
  bool any = false;
  for (std::size_t i = from; i < records.size(); ++i) {
    if (!isExec(records[i])) continue;
    any = true;
    readExecLine(records[i]);
  }
  return any;
}

void forgetLinesOfNext(std::vector<PerfRecord>& records) {
  std::multimap<std::uint32_t, PerfRecord*> execs;
  for (PerfRecord& record : records) {
    if (isExec(record)) execs.emplace(record.pid, &record);
  }
  for (auto& [pid, record] : execs) {
    const auto [begin, end] = execs.equal_range(pid);
    for (auto next = begin; next != end; ++next) {
      const prof::TimeNs nextNs = next->second->timeNs;
      if (nextNs > record->timeNs && nextNs <= record->lineNs) {
        record->commandLine.clear();
        record->stranger = false;
      }
    }
  }
}

}  // namespace lacuna::collector::sampler
