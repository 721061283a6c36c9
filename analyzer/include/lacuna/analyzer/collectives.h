// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/store.h"

/// What the kernels of communication libraries carry out: which operation, among whom, of how many bytes. Told by the
/// kernel's own arguments (Kineto), else by the ranges that NCCL writes about its calls, joined through the launch.
/// docs/analyses/communication.md.
namespace lacuna::analyzer {

enum class CollectiveKind : std::uint8_t {
  Unknown,
  AllReduce,
  AllGather,
  ReduceScatter,
  Broadcast,
  Reduce,
  AllToAll,
  Gather,
  Scatter,
  Send,
  Receive,
  SendReceive,
  Several,  ///< one kernel for calls of different kinds
};
/// "all_reduce"; nothing for what is not known.
std::string_view nameOf(CollectiveKind kind);
/// By the name of a function of NCCL, of an operation of PyTorch, or of a kernel.
CollectiveKind collectiveKind(std::string_view name);

/// How much a collective moves. 0 where that is not known.
struct CollectiveVolume {
  std::uint64_t bytes = 0;           ///< that a rank puts in
  std::uint64_t algorithmBytes = 0;  ///< the whole buffer: what bandwidth is commonly counted by
  double busBytes = 0;               ///< that must cross a rank's link, whatever the algorithm
};
/// Of what a rank puts in, or of the message that NCCL speaks of: what is one rank's share where ranks share.
CollectiveVolume volumeOfInput(CollectiveKind kind, std::uint64_t bytes, std::uint32_t ranks);
CollectiveVolume volumeOfMessage(CollectiveKind kind, std::uint64_t bytes, std::uint32_t ranks);

struct Communicator {
  std::string name;         ///< what people call it, or NCCL's number as its logs print it; empty where nothing tells
  std::string group;        ///< the process group, of which several may be called the same
  std::uint32_t ranks = 0;  ///< 0 where the trace does not tell
  friend bool operator==(const Communicator&, const Communicator&) = default;
};

/// An execution of a communication kernel.
struct Collective {
  std::uint64_t kernel = 0;  ///< its row
  prof::TimeNs startNs = 0;
  prof::TimeNs endNs = 0;
  prof::QueueId queue;
  prof::DeviceId device;
  prof::StringId name;
  std::uint32_t communicator = 0;  ///< in the list's communicators
  CollectiveKind kind = CollectiveKind::Unknown;
  std::uint32_t calls = 0;  ///< of the program, that it carries out; 0 where the trace does not tell
  CollectiveVolume volume{};
};
struct CollectiveList {
  std::vector<Collective> calls;
  std::vector<Communicator> communicators;  ///< the first is none
  [[nodiscard]] const Communicator& communicatorOf(const Collective& one) const {
    return communicators[one.communicator];
  }
};
/// What starts within the window, in the order of the trace.
prof::Result<CollectiveList> listCollectives(const Store& store, prof::TimeWindow window);

}  // namespace lacuna::analyzer
