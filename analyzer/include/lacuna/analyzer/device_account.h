// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lacuna/analyzer/ledger.h"

namespace lacuna::analyzer {

/// A stretch of a device's ledger.
struct DeviceSegment : LedgerSegment {
  prof::DeviceId device;
};

struct QueueAccount {
  prof::QueueId id;
  std::string name;
  Ledger ledger;
  Ledger bands;  ///< of each entry, what recording may have added
};

/// A device as one process uses it.
struct DeviceAccount {
  prof::DeviceId id;
  prof::DeviceKind kind = prof::DeviceKind::Other;
  std::string label;  ///< "cuda:3", "cpu:0"
  std::uint32_t index = 0;
  std::string uuid;
  std::string name;
  std::uint32_t osPid = 0;
  std::int32_t rank = -1;
  std::uint64_t memoryBytes = 0;
  std::uint64_t memoryBandwidth = 0;  ///< bytes per second; 0: not known
  std::uint32_t cores = 0;            ///< of a CPU device: threads that an execution may use; else multiprocessors
  prof::TimeWindow window;            ///< first start to last end of its work, within what is analysed
  std::int64_t kernelNs = 0;
  std::int64_t memcpyNs = 0;
  std::int64_t memsetNs = 0;
  std::int64_t commNs = 0;
  std::uint64_t kernels = 0;
  Ledger ledger;
  Ledger bands;  ///< of each entry, what recording may have added
  std::vector<QueueAccount> queues;
};

}  // namespace lacuna::analyzer
