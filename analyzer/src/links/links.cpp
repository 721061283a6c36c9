// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/links.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>

#include "lacuna/analyzer/store.h"
#include "links/graph_nodes.h"
#include "links/link_builders.h"
#include "links/nccl_calls.h"

namespace lacuna::analyzer {

using Table = EventRef::Table;
using prof::DeviceId;
using prof::ProcessId;
using prof::QueueId;
using prof::ThreadId;
using prof::TimeNs;

namespace {

template <class Node, class Id>
const Node* findNode(const std::vector<Node>& nodes, Id id) {
  const auto found = std::ranges::lower_bound(nodes, id, {}, &Node::id);
  return found != nodes.end() && found->id == id ? &*found : nullptr;
}

template <class Node, class Id>
Node& nodeFor(std::vector<Node>& nodes, Id id) {
  auto found = std::ranges::lower_bound(nodes, id, {}, &Node::id);
  if (found == nodes.end() || found->id != id) {
    found = nodes.insert(found, Node{});
    found->id = id;
  }
  return *found;
}

template <class Id>
void insertOnce(std::vector<Id>& ids, Id id) {
  const auto at = std::ranges::lower_bound(ids, id);
  if (at == ids.end() || *at != id) ids.insert(at, id);
}

std::uint32_t at(const std::vector<std::uint32_t>& links, std::uint64_t row) {
  return row < links.size() ? links[row] : kNoLink;
}

/// A value that is computed when it is first asked for, once, unless that is called off. Safe for
/// many threads.
template <class Value>
class ComputedOnce {
 public:
  /// compute() answers nothing where it was called off; so does this. A thread that comes while it
  /// is computed waits for it, as long as that is wanted.
  template <class Compute>
  const Value* get(const Links::Wanted& wanted, Compute&& compute) {
    constexpr std::chrono::milliseconds kCheckAgain(5);
    if (ready_) return &value_;
    std::unique_lock lock(mutex_, std::defer_lock);
    if (!wanted) lock.lock();
    while (!lock.owns_lock() && !lock.try_lock()) {
      if (!wanted()) return nullptr;
      std::this_thread::sleep_for(kCheckAgain);
    }
    if (ready_) return &value_;
    std::optional<Value> made = compute();
    if (!made) return nullptr;
    value_ = *std::move(made);
    ready_ = true;
    return &value_;
  }
  [[nodiscard]] bool ready() const { return ready_; }

 private:
  std::mutex mutex_;  // held while it is computed
  std::atomic<bool> ready_ = false;
  Value value_;
};

}  // namespace

const OwnerTree::ProcessNode* OwnerTree::process(ProcessId id) const {
  return findNode(processes, id);
}
const OwnerTree::DeviceNode* OwnerTree::device(DeviceId id) const {
  return findNode(devices, id);
}
ProcessId OwnerTree::processOf(ThreadId id) const {
  const auto found =
      std::ranges::lower_bound(threads_, id, {}, &std::pair<ThreadId, ProcessId>::first);
  return found != threads_.end() && found->first == id ? found->second : ProcessId();
}
ProcessId OwnerTree::processOf(QueueId id) const {
  const QueueOwner* queue = findNode(queues_, id);
  if (queue != nullptr && queue->process) return queue->process;
  return processes.size() == 1 ? processes.front().id : ProcessId();
}
DeviceId OwnerTree::deviceOf(QueueId id) const {
  const QueueOwner* queue = findNode(queues_, id);
  return queue == nullptr ? DeviceId() : queue->device;
}

OwnerTree OwnerTree::read(const Store& store) {
  OwnerTree tree;
  for (std::uint64_t i = 0; i < store.rows<prof::Process>(); ++i) {
    const auto row = store.row<prof::Process>(i);
    nodeFor(tree.processes, row.id).parent = row.parent;
  }
  std::vector<std::pair<ProcessId, ProcessId>> births;
  for (const ProcessNode& process : tree.processes) {
    if (process.parent) births.emplace_back(process.parent, process.id);
  }
  for (const auto& [parent, child] : births)
    insertOnce(nodeFor(tree.processes, parent).children, child);
  for (std::uint64_t i = 0; i < store.rows<prof::Thread>(); ++i) {
    const auto row = store.row<prof::Thread>(i);
    tree.threads_.emplace_back(row.id, row.process);
    insertOnce(nodeFor(tree.processes, row.process).threads, row.id);
  }
  std::ranges::sort(tree.threads_);
  for (std::uint64_t i = 0; i < store.rows<prof::Device>(); ++i) {
    const auto row = store.row<prof::Device>(i);
    nodeFor(tree.devices, row.id);
    if (row.process) insertOnce(nodeFor(tree.processes, row.process).devices, row.id);
  }
  for (std::uint64_t i = 0; i < store.rows<prof::Queue>(); ++i) {
    const auto row = store.row<prof::Queue>(i);
    QueueOwner& queue = nodeFor(tree.queues_, row.id);
    queue.process = row.process;
    queue.device = row.device;
    insertOnce(nodeFor(tree.devices, row.device).queues, row.id);
    if (!row.process) continue;
    insertOnce(nodeFor(tree.processes, row.process).queues, row.id);
    insertOnce(nodeFor(tree.processes, row.process).devices, row.device);
  }
  return tree;
}

struct Links::Impl {
  explicit Impl(const Store& from) : store(from) {}

  const OwnerTree& owners() {
    std::call_once(ownersOnce_, [&] { tree_ = OwnerTree::read(store); });
    return tree_;
  }
  const LaunchLinks& launches() { return *launches({}); }
  const NestingLinks& nesting() { return *nesting({}); }
  /// Null where it is no longer wanted.
  const LaunchLinks* launches(const Wanted& wanted) {
    return launchLinks.get(wanted, [&] {
      auto links = buildLaunchLinks(store, owners(), wanted);
      if (links) count({&links->launch, &links->next, &links->firstOfCall, &links->firstOfRange});
      return links;
    });
  }
  const NestingLinks* nesting(const Wanted& wanted) {
    return nestingLinks.get(wanted, [&] {
      auto links = buildNestingLinks(store, wanted);
      if (links) count({&links->parent, &links->aroundCall});
      return links;
    });
  }
  const std::vector<std::uint32_t>& allocations() {
    std::call_once(allocationsOnce_, [&] {
      allocationLinks_ = buildAllocationLinks(store, owners());
      count({&allocationLinks_});
    });
    return allocationLinks_;
  }
  const FlowLinks& flows() {
    std::call_once(flowsOnce_, [&] {
      flowLinks_ = buildFlowLinks(store);
      count({&flowLinks_.next, &flowLinks_.previous});
    });
    return flowLinks_;
  }

  const NcclCalls& ncclCalls() {
    return *ncclLinks.get({}, [&] { return std::optional(buildNcclCalls(store, owners())); });
  }

  const GraphNodes& graphNodes() {
    return *madeNodes.get({}, [&] { return std::optional(GraphNodes(store)); });
  }

  const Store& store;
  ComputedOnce<LaunchLinks> launchLinks;
  ComputedOnce<NestingLinks> nestingLinks;
  ComputedOnce<NcclCalls> ncclLinks;
  ComputedOnce<GraphNodes> madeNodes;
  std::atomic<std::uint64_t> bytes = 0;

 private:
  void count(std::initializer_list<const std::vector<std::uint32_t>*> kept) {
    for (const auto* links : kept) bytes += links->size() * sizeof(std::uint32_t);
  }

  std::once_flag ownersOnce_, allocationsOnce_, flowsOnce_;
  OwnerTree tree_;
  std::vector<std::uint32_t> allocationLinks_;
  FlowLinks flowLinks_;
};

Links::Links(const Store& store) : impl_(std::make_unique<Impl>(store)) {}
Links::~Links() = default;

const OwnerTree& Links::owners() const {
  return impl_->owners();
}

EventRef Links::launchOf(const EventRef& work) const {
  const LaunchLinks& links = impl_->launches();
  const std::uint32_t launch = at(links.launch, links.number(work));
  if (launch == kNoLink) return {};
  const std::uint32_t row = launch & ~LaunchLinks::kIsRange;
  return {row == launch ? Table::ApiCall : Table::Range, row};
}

std::vector<EventRef> Links::launchedBy(const EventRef& launch, std::size_t limit) const {
  const LaunchLinks& links = impl_->launches();
  std::vector<EventRef> work;
  std::uint32_t number = kNoLink;
  if (launch.table == Table::ApiCall) number = at(links.firstOfCall, launch.row);
  if (launch.table == Table::Range) number = at(links.firstOfRange, launch.row);
  for (; number != kNoLink && work.size() < limit; number = links.next[number])
    work.push_back(links.work(number));
  return work;
}

bool Links::prepareLaunches(const Wanted& wanted) const {
  return impl_->launches(wanted) != nullptr && impl_->nesting(wanted) != nullptr;
}

bool Links::launchesReady() const {
  return impl_->launchLinks.ready() && impl_->nestingLinks.ready();
}

std::uint32_t Links::parentOf(std::uint64_t range) const {
  return at(impl_->nesting().parent, range);
}

std::uint32_t Links::rangeAround(std::uint64_t call) const {
  return at(impl_->nesting().aroundCall, call);
}

std::uint32_t Links::operatorOf(const EventRef& work) const {
  const EventRef launch = launchOf(work);
  if (launch.table == Table::Range) return static_cast<std::uint32_t>(launch.row);
  return launch ? rangeAround(launch.row) : kNoLink;
}

void Links::workUnder(std::uint64_t range,
                      const std::function<void(const EventRef&)>& visit) const {
  const LaunchLinks& links = impl_->launches();
  const NestingLinks& nesting = impl_->nesting();
  const auto inside = [&](std::uint32_t around) {
    while (around != kNoLink && around > range) around = at(nesting.parent, around);
    return around == range;
  };
  const auto visitAll = [&](const std::vector<std::uint32_t>& first, std::uint64_t row) {
    for (std::uint32_t n = at(first, row); n != kNoLink; n = links.next[n]) visit(links.work(n));
  };
  using R = prof::Range;
  TimeNs start = 0;
  TimeNs end = 0;
  // One row, without decoding the whole column of a large table.
  (void)impl_->store.scan<&R::startNs, &R::durNs>(
      {}, [&](std::uint64_t first, auto starts, auto lengths) {
        if (range >= first + starts.size()) return true;
        start = starts[range - first];
        end = start + lengths[range - first];
        return false;
      });
  const prof::TimeWindow window{start, end + 1};
  (void)impl_->store.scan<&prof::ApiCall::startNs>(window, [&](std::uint64_t first, auto starts) {
    for (std::size_t i = 0; i < starts.size(); ++i) {
      if (starts[i] >= start && starts[i] < end && inside(at(nesting.aroundCall, first + i))) {
        visitAll(links.firstOfCall, first + i);
      }
    }
  });
  if (links.firstOfRange.empty()) return;
  (void)impl_->store.scan<&R::startNs>(window, [&](std::uint64_t first, auto starts) {
    for (std::size_t i = 0; i < starts.size(); ++i) {
      const std::uint64_t row = first + i;
      if (starts[i] < start || starts[i] > end) continue;
      if (row == range || inside(at(nesting.parent, row))) visitAll(links.firstOfRange, row);
    }
  });
}

const GraphNodes& Links::graphNodes() const {
  return impl_->graphNodes();
}

const NcclCalls& Links::ncclCalls() const {
  return impl_->ncclCalls();
}

std::uint32_t Links::allocationPartner(std::uint64_t allocation) const {
  return at(impl_->allocations(), allocation);
}

std::uint32_t Links::nextInFlow(std::uint64_t point) const {
  return at(impl_->flows().next, point);
}

std::uint32_t Links::previousInFlow(std::uint64_t point) const {
  return at(impl_->flows().previous, point);
}

std::uint64_t Links::bytes() const {
  return impl_->bytes;
}

}  // namespace lacuna::analyzer
