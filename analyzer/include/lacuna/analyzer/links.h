// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/store.h"
#include "lacuna/prof/ids.h"

namespace lacuna::analyzer {

class GraphNodes;
class Store;
struct NcclCalls;

/// A row of an event table of the store.
struct EventRef {
  enum class Table : std::uint8_t { None, Range, ApiCall, Kernel, Memcpy, Memset, Sync };
  Table table = Table::None;
  std::uint64_t row = 0;
  explicit operator bool() const { return table != Table::None; }
  friend bool operator==(const EventRef&, const EventRef&) = default;
};

/// The tree of owners among the things that events refer to, from the small tables. Lists hold ids
/// in order.
struct OwnerTree {
  struct ProcessNode {
    prof::ProcessId id;
    prof::ProcessId parent;
    std::vector<prof::ProcessId> children;
    std::vector<prof::ThreadId> threads;
    std::vector<prof::QueueId> queues;
    std::vector<prof::DeviceId> devices;  ///< owned (a CPU device) or used by one of its queues
  };
  struct DeviceNode {
    prof::DeviceId id;
    std::vector<prof::QueueId> queues;
  };
  std::vector<ProcessNode> processes;  ///< by id
  std::vector<DeviceNode> devices;     ///< by id

  [[nodiscard]] const ProcessNode* process(prof::ProcessId id) const;
  [[nodiscard]] const DeviceNode* device(prof::DeviceId id) const;
  /// None for an id that the trace does not list.
  [[nodiscard]] prof::ProcessId processOf(prof::ThreadId id) const;
  /// Where the trace does not show who fills a queue, the process of the only other choice, if
  /// there is just one process.
  [[nodiscard]] prof::ProcessId processOf(prof::QueueId id) const;
  [[nodiscard]] prof::DeviceId deviceOf(prof::QueueId id) const;

  static OwnerTree read(const Store& store);

 private:
  struct QueueOwner {
    prof::QueueId id;
    prof::ProcessId process;
    prof::DeviceId device;
  };
  std::vector<std::pair<prof::ThreadId, prof::ProcessId>> threads_;  // by id
  std::vector<QueueOwner> queues_;                                   // by id
};

/// The links between the rows of a store; got from Store::links(). Each kind of link is computed
/// once, when it is first asked for, in time linear in the rows concerned. The tables are streamed,
/// and 4 to 8 bytes are kept for each row that takes part. Safe for many threads; a thread that
/// comes while a kind is computed waits for it. Questions themselves take constant time unless
/// noted otherwise. Tables of more than 2^31 rows are not linked.
class Links {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  explicit Links(const Store& store);
  ~Links();
  Links(const Links&) = delete;
  Links& operator=(const Links&) = delete;

  [[nodiscard]] const OwnerTree& owners() const;

  /// The call or range that started a piece of device work (a kernel, copy or memset): it has the
  /// same correlation id in the same process. A call goes before a range; of several, the last to
  /// begin, which is the innermost.
  [[nodiscard]] EventRef launchOf(const EventRef& work) const;
  /// The device work that a call or range is the launch of: kernels, then copies, then memsets,
  /// each in time order; at most `limit`. Linear in the answer.
  [[nodiscard]] std::vector<EventRef> launchedBy(const EventRef& launch,
                                                 std::size_t limit = SIZE_MAX) const;
  /// Asked now and then by what takes long; answering false calls it off. May be empty.
  using Wanted = std::function<bool()>;
  /// Computes what launchOf(), launchedBy(), operatorOf() and workUnder() go by, or waits until
  /// another thread has. False where it was called off: what this thread had begun is dropped, and
  /// begun anew when somebody asks next.
  [[nodiscard]] bool prepareLaunches(const Wanted& wanted) const;
  /// True once there is nothing to compute for those.
  [[nodiscard]] bool launchesReady() const;

  /// The innermost range around another one, or kNone: on the same thread, beginning no later and
  /// ending no earlier. Ranges on a queue nest among themselves there; ranges that begin and end
  /// anywhere have no parent and are none.
  [[nodiscard]] std::uint32_t parentOf(std::uint64_t range) const;
  /// The innermost pushed range of the calling thread around an API call, or kNone.
  [[nodiscard]] std::uint32_t rangeAround(std::uint64_t call) const;
  /// The range in which device work was launched: the one around its launch call, or the launching
  /// range itself.
  [[nodiscard]] std::uint32_t operatorOf(const EventRef& work) const;
  /// Calls visit for the device work launched within a range, by the range itself or by what it
  /// encloses. Reads the calls and ranges of the range's time.
  void workUnder(std::uint64_t range, const std::function<void(const EventRef&)>& visit) const;

  /// NCCL's calls that the kernels carry out, by the ranges that NCCL writes. listCollectives() has
  /// them in our own types.
  [[nodiscard]] const NcclCalls& ncclCalls() const;
  /// The moments at which the program made the nodes of graphs.
  [[nodiscard]] const GraphNodes& graphNodes() const;

  /// The row that gave back what a row of the allocation table took, and the other way round; kNone
  /// for what was not freed, or not seen allocated. Blocks, external memory and segments pair among
  /// themselves, by address, within process and device.
  [[nodiscard]] std::uint32_t allocationPartner(std::uint64_t allocation) const;

  /// The neighbours of a flow's point (a row of the flow table) along the flow, or kNone. A flow is
  /// what shares an id within name and category; another begin starts another flow, and nothing
  /// follows an end.
  [[nodiscard]] std::uint32_t nextInFlow(std::uint64_t point) const;
  [[nodiscard]] std::uint32_t previousInFlow(std::uint64_t point) const;

  /// Bytes kept so far.
  [[nodiscard]] std::uint64_t bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The operations that kernels of communication libraries carry out: kind, ranks, bytes. They come
// from the kernel's own arguments (Kineto), else from the ranges that NCCL writes about its calls,
// joined through the launch. docs/analyses/communication.md.

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

/// The volume that a collective moves. 0 where that is not known.
struct CollectiveVolume {
  std::uint64_t bytes = 0;           ///< that a rank puts in
  std::uint64_t algorithmBytes = 0;  ///< the whole buffer: what bandwidth is commonly counted by
  double busBytes = 0;               ///< that must cross a rank's link, whatever the algorithm
};
/// From the bytes that a rank puts in, or from NCCL's message, which is one rank's share where
/// ranks share.
CollectiveVolume volumeOfInput(CollectiveKind kind, std::uint64_t bytes, std::uint32_t ranks);
CollectiveVolume volumeOfMessage(CollectiveKind kind, std::uint64_t bytes, std::uint32_t ranks);

struct Communicator {
  std::string name;         ///< for people, or NCCL's number as its logs print it; empty: not known
  std::string group;        ///< the process group; several may have the same name
  std::uint32_t ranks = 0;  ///< 0: not known
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
  std::uint32_t calls = 0;  ///< of the program, that it carries out; 0: not known
  CollectiveVolume volume{};
};
struct CollectiveList {
  std::vector<Collective> calls;
  std::vector<Communicator> communicators;  ///< the first is none
  [[nodiscard]] const Communicator& communicatorOf(const Collective& one) const {
    return communicators[one.communicator];
  }
};
/// The collectives that start within the window, in the order of the trace.
prof::Result<CollectiveList> listCollectives(const Store& store, prof::TimeWindow window);

}  // namespace lacuna::analyzer
