// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// Payloads of the tensor runtime's NVTX schema, laid out as in its nvtx_schema.h, which this room
/// must not include. The runtime's tests hold the same sizes.
namespace lacuna::collector {

/// Handle of a registered string, or of the event's own.
using StringHandle = std::uint64_t;

struct OperatorPayload {
  std::uint64_t correlation, sequence;
  StringHandle shapes, module;
  std::uint32_t queue, direction;
};
struct ExecutionPayload {
  std::uint64_t correlation, sequence;
  std::int64_t enqueueStartNs, enqueueEndNs;
  std::uint32_t enqueueThread, queue, kind, reserved;
  std::uint64_t bytes, flops;
};
struct MemoryPayload {
  std::uint64_t address, bytes, sequence;
  StringHandle op, tensor;
  std::uint32_t queue;
  std::uint8_t action, role;
  std::uint16_t reserved;
};

}  // namespace lacuna::collector
