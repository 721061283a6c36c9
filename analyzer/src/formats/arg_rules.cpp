// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "formats/arg_rules.h"
#include "lacuna/prof/bounds.h"

#include <fmt/format.h>

#include <array>
#include <iterator>

#include "formats/json_text.h"

namespace lacuna::analyzer {
namespace {

constexpr unsigned bit(ArgTable table) {
  return 1U << static_cast<unsigned>(table);
}
constexpr unsigned kDeviceWork =
    bit(ArgTable::Kernel) | bit(ArgTable::Memcpy) | bit(ArgTable::Memset) | bit(ArgTable::Sync);
constexpr unsigned kGraphWork =
    bit(ArgTable::Kernel) | bit(ArgTable::Memcpy) | bit(ArgTable::Memset);
constexpr unsigned kCopies = bit(ArgTable::Memcpy) | bit(ArgTable::Memset);

struct Entry {
  std::string_view key;
  unsigned tables;
  ArgRule rule;
};

constexpr std::array kEntries = {
    Entry{"External id", kDeviceWork | bit(ArgTable::ApiCall) | bit(ArgTable::Range),
          ArgRule::Correlation},
    Entry{"External Id", bit(ArgTable::Range), ArgRule::Correlation},
    Entry{"correlation", kDeviceWork | bit(ArgTable::ApiCall), ArgRule::Correlation},
    Entry{"device", kDeviceWork, ArgRule::Device},
    Entry{"stream", kDeviceWork, ArgRule::Stream},
    Entry{"bytes", kCopies, ArgRule::Bytes},
    Entry{"memory bandwidth (GB/s)", kCopies, ArgRule::Bandwidth},
    Entry{"registers per thread", bit(ArgTable::Kernel), ArgRule::Registers},
    Entry{"shared memory", bit(ArgTable::Kernel), ArgRule::SharedBytes},
    Entry{"grid", bit(ArgTable::Kernel), ArgRule::Grid},
    Entry{"block", bit(ArgTable::Kernel), ArgRule::Block},
    Entry{"blocks per SM", bit(ArgTable::Kernel), ArgRule::BlocksPerSm},
    Entry{"warps per SM", bit(ArgTable::Kernel), ArgRule::WarpsPerSm},
    Entry{"graph id", kGraphWork, ArgRule::GraphId},
    Entry{"graph node id", kGraphWork, ArgRule::GraphNodeId},
    Entry{"cuda_sync_kind", bit(ArgTable::Sync), ArgRule::Name},
    Entry{"wait_on_cuda_event_id", bit(ArgTable::Sync), ArgRule::EventId},
    Entry{"Sequence number", bit(ArgTable::Range), ArgRule::Payload},
    Entry{"Input Dims", bit(ArgTable::Range), ArgRule::Text},
    Entry{"Bytes", bit(ArgTable::Allocation), ArgRule::SignedBytes},
    Entry{"Addr", bit(ArgTable::Allocation), ArgRule::Address},
    Entry{"Device Id", bit(ArgTable::Allocation), ArgRule::Device},
};

std::uint64_t product(const std::uint32_t (&n)[3]) {
  return prof::productOf(static_cast<std::uint64_t>(n[0]) * n[1], n[2]);
}

void triple(const std::uint32_t (&n)[3], std::string& out) {
  fmt::format_to(std::back_inserter(out), "[{}, {}, {}]", n[0], n[1], n[2]);
}

/// Kineto counts these in single precision.
float blocksPerSm(const ArgSource& source) {
  return source.multiprocessors == 0 ? 0.0F
                                     : static_cast<float>(product(source.grid)) /
                                           static_cast<float>(source.multiprocessors);
}

}  // namespace

ArgRule argRule(ArgTable table, std::string_view key) {
  for (const Entry& entry : kEntries) {
    if ((entry.tables & bit(table)) != 0 && entry.key == key) return entry.rule;
  }
  return ArgRule::None;
}

void renderArg(ArgRule rule, const ArgSource& source, std::string& out) {
  const auto number = [&](auto value) { fmt::format_to(std::back_inserter(out), "{}", value); };
  switch (rule) {
    case ArgRule::None:
      out += "null";
      return;
    case ArgRule::Correlation:
      return number(source.correlation);
    case ArgRule::Device:
      return number(source.deviceIndex);
    case ArgRule::Stream:
      return number(source.stream);
    case ArgRule::Bytes:
      return number(source.bytes);
    case ArgRule::SignedBytes:
      if (source.freed) out += '-';
      return number(source.bytes);
    case ArgRule::Address:
      return number(source.address);
    case ArgRule::Registers:
      return number(source.registers);
    case ArgRule::SharedBytes:
      return number(source.sharedBytes);
    case ArgRule::Grid:
      return triple(source.grid, out);
    case ArgRule::Block:
      return triple(source.block, out);
    case ArgRule::Bandwidth:
      return number(source.durNs > 0
                        ? static_cast<double>(source.bytes) / static_cast<double>(source.durNs)
                        : 0.0);
    case ArgRule::BlocksPerSm:
      return number(blocksPerSm(source));
    case ArgRule::WarpsPerSm:
      return number(blocksPerSm(source) * static_cast<float>(product(source.block)) / 32.0F);
    case ArgRule::Payload:
      return number(static_cast<std::int64_t>(source.payload));
    case ArgRule::Text:
      return json::appendChecked(out, source.text);
    case ArgRule::Name:
      return json::appendQuoted(out, source.name);
    case ArgRule::EventId:
      return number(source.eventId);
    case ArgRule::GraphId:
      return number(source.graphId);
    case ArgRule::GraphNodeId:
      return number(source.graphNodeId);
  }
}

}  // namespace lacuna::analyzer
