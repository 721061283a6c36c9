// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lacuna/runtime/nvtx_schema.h"

/// An NVTX tool of its own, linked into the test: it knows nothing of Lacuna, and keeps what the
/// runtime reports.
namespace tool {

/// Each test program defines it: whether the tool takes complete operators.
extern const bool kTakesCompleteOperators;

struct Event {
  std::string form;  ///< "push", "pop", "mark", "complete"
  std::string message = {};
  std::string category = {};
  std::string payload = {};  ///< name of its schema, or "double"; empty for none
  bool fits = true;          ///< the payload is as large as its schema
  std::map<std::string, std::int64_t> numbers =
      {};  ///< fields of the payload, and of those that are texts the texts
  std::map<std::string, std::string> texts = {};
  double value = 0;  ///< of a payload that is a double
  LacunaRtComplete complete{};
  std::thread::id thread{};
};
struct Field {
  std::string name;
  std::uint64_t type;
  std::uint64_t offset;
};
struct Schema {
  std::string name;
  std::uint64_t id;
  std::vector<Field> fields;
};

/// The events so far, of all threads, in order.
std::vector<Event> events();
/// The events since the last call of forget(), of the calling thread.
std::vector<Event> mine();
void forget();
std::vector<Schema> schemas();
std::map<std::uint32_t, std::string> categories();
std::vector<std::string> domains();
/// Each registration of a text, in order.
std::vector<std::string> registeredTexts();
/// Names of the counters that were sampled, with their values, and of those registered.
std::vector<std::pair<std::string, std::int64_t>> samples();
std::vector<std::string> sampledCounters();
std::vector<std::string> registeredCounters();

}  // namespace tool
