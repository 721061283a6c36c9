// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/chrome/chrome_lives.h"

#include <simdjson.h>

#include <string_view>

#include "formats/own_columns.h"

namespace lacuna::analyzer {
namespace {

using simdjson::dom::element;

/// Leaves the value as it is where the member is missing or no such number.
void read(element args, std::string_view key, std::int64_t& into) {
  std::int64_t value = 0;
  if (args[key].get(value) == simdjson::SUCCESS) into = value;
}

void readProcess(element args, prof::ProcessId id, const ChromeNames& names,
                 StoreBuilder& builder) {
  auto& processes = builder.columns<prof::Process>();
  const std::size_t at = id.value - 1;
  element parent;
  if (args["parent"].get(parent) == simdjson::SUCCESS) {
    const prof::ProcessId found = names.process(simdjson::minify(parent));
    if (found != id) processes.parent[at] = found;
  }
  read(args, "start_ns", processes.startNs[at]);
  read(args, "end_ns", processes.endNs[at]);
  std::int64_t exitCode = processes.exitCode[at];
  read(args, "exit_code", exitCode);
  processes.exitCode[at] = static_cast<std::int32_t>(exitCode);
  std::string_view commandLine;
  if (args["command_line"].get(commandLine) == simdjson::SUCCESS)
    processes.commandLine[at] = builder.intern(commandLine);
}

void readThread(element args, prof::ThreadId id, StoreBuilder& builder) {
  auto& threads = builder.columns<prof::Thread>();
  read(args, "start_ns", threads.startNs[id.value - 1]);
  read(args, "end_ns", threads.endNs[id.value - 1]);
}

}  // namespace

void readLives(std::span<const std::string> metadata, const ChromeNames& names,
               StoreBuilder& builder) {
  simdjson::dom::parser parser;
  for (const std::string& event : metadata) {
    if (event.find(kLifeOfProcess) == std::string::npos &&
        event.find(kLifeOfThread) == std::string::npos)
      continue;
    element value, pid, tid, args;
    std::string_view what;
    if (parser.parse(simdjson::padded_string(event)).get(value) != simdjson::SUCCESS) continue;
    if (value["name"].get(what) != simdjson::SUCCESS || value["pid"].get(pid) != simdjson::SUCCESS)
      continue;
    if (value["tid"].get(tid) != simdjson::SUCCESS || value["args"].get(args) != simdjson::SUCCESS)
      continue;
    const std::string process = simdjson::minify(pid);
    if (what == kLifeOfProcess) {
      if (const prof::ProcessId id = names.process(process)) readProcess(args, id, names, builder);
    } else if (what == kLifeOfThread) {
      if (const prof::ThreadId id = names.thread(process, simdjson::minify(tid)))
        readThread(args, id, builder);
    }
  }
}

}  // namespace lacuna::analyzer
