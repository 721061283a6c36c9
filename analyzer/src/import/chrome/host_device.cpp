// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/chrome/host_device.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "formats/own_columns.h"
#include "import/chrome/pytorch_names.h"
#include "lacuna/prof/collective_names.h"

namespace lacuna::analyzer {
namespace {

using prof::Range;
using prof::StringId;
using prof::ThreadId;
using prof::TimeNs;

/// Or calls that give it work, which was not recorded then.
bool hasDevice(StoreBuilder& builder) {
  return !builder.columns<prof::Device>().id.empty() ||
         !builder.columns<prof::ApiCall>().startNs.empty();
}

class HostDevice {
 public:
  explicit HostDevice(StoreBuilder& builder)
      : builder_(builder), ranges_(builder.columns<Range>()) {}

  void add() {
    sortOut();
    const auto threads = trainingThreads();
    for (const auto& [process, thread] : threads) {
      makeDevice(process);
      executeAll(thread);
      executeCollectives(process);
      takeMemory(process, threads.size() == 1);
    }
  }

 private:
  enum class Kind : std::uint8_t { Unseen, Other, Step, Loader, Collective, CollectiveCall };
  struct Thread {
    std::vector<std::size_t> spans;  ///< operators, and waits for the loader
    std::size_t steps = 0;
    TimeNs operatorNs = 0;
  };

  /// The ranges of a process that begin collectives, and those in which they are executed.
  struct Collectives {
    std::vector<std::size_t> calls, executions;
  };

  [[nodiscard]] prof::ProcessId processOf(ThreadId thread) const {
    return builder_.columns<prof::Thread>().process[thread.value - 1];
  }
  void sortByStart(std::vector<std::size_t>& ranges) const {
    std::ranges::sort(ranges, {}, [this](std::size_t i) {
      return std::tuple(ranges_.startNs[i], -ranges_.durNs[i]);
    });
  }

  Kind kindOf(StringId name) {
    if (name.value >= kinds_.size())
      kinds_.resize(std::max<std::size_t>(2 * kinds_.size(), name.value + 1));
    Kind& kind = kinds_[name.value];
    if (kind != Kind::Unseen) return kind;
    const std::string_view text = builder_.text(name);
    return kind = text.starts_with(pytorch::kStep)              ? Kind::Step
                  : text.starts_with(pytorch::kLoaderWait)      ? Kind::Loader
                  : text.starts_with(pytorch::kHostCollectives) ? Kind::Collective
                  : text.starts_with(pytorch::kCollectiveCalls) ? Kind::CollectiveCall
                                                                : Kind::Other;
  }

  void sortOut() {
    const StringId op = builder_.intern(pytorch::kOperators),
                   olderOp = builder_.intern(pytorch::kOlderOperators);
    for (std::size_t i = 0; i < ranges_.startNs.size(); ++i) {
      if (!ranges_.thread[i] || ranges_.kind[i] != prof::RangeKind::PushPop) continue;
      const Kind kind = kindOf(ranges_.name[i]);
      const bool isOperator = ranges_.category[i] == op || ranges_.category[i] == olderOp;
      if (!isOperator && kind == Kind::Other) continue;
      Collectives& collectives = collectives_[processOf(ranges_.thread[i])];
      if (kind == Kind::CollectiveCall) collectives.calls.push_back(i);
      if (kind == Kind::Collective) {
        collectives.executions.push_back(i);
        continue;
      }
      Thread& thread = threads_[ranges_.thread[i]];
      if (isOperator) thread.operatorNs += ranges_.durNs[i];
      if (kind == Kind::Step) {
        ++thread.steps;
      } else {
        thread.spans.push_back(i);
      }
    }
  }

  /// The thread with steps in each process, else the one that is longest in operators.
  [[nodiscard]] std::map<prof::ProcessId, ThreadId> trainingThreads() const {
    std::map<prof::ProcessId, ThreadId> best;
    const auto rank = [&](ThreadId id) {
      const Thread& thread = threads_.at(id);
      return std::tuple(thread.steps, thread.operatorNs, -std::int64_t{id.value});
    };
    for (const auto& [id, thread] : threads_) {
      if (thread.operatorNs == 0) continue;
      const auto [other, isFirst] = best.try_emplace(processOf(id), id);
      if (!isFirst && rank(other->second) < rank(id)) other->second = id;
    }
    return best;
  }

  void makeDevice(prof::ProcessId process) {
    device_ = prof::DeviceId(device_.value + 1);
    builder_.append(prof::Device{.id = device_,
                                 .kind = prof::DeviceKind::Cpu,
                                 .index = 0,
                                 .process = process,
                                 .name = builder_.intern("CPU, as no other device was recorded")});
  }
  prof::QueueId makeQueue(prof::ProcessId process, std::string_view name) {
    queue_ = prof::QueueId(queue_.value + 1);
    builder_.append(prof::Queue{
        .id = queue_, .device = device_, .process = process, .name = builder_.intern(name)});
    return queue_;
  }

  void executeAll(ThreadId thread) {
    const prof::QueueId queue = makeQueue(processOf(thread), kOperatorQueue);
    std::vector<std::size_t>& spans = threads_[thread].spans;
    sortByStart(spans);
    TimeNs until = INT64_MIN;
    for (const std::size_t i : spans) {
      if (ranges_.startNs[i] < until) continue;
      until = ranges_.startNs[i] + ranges_.durNs[i];
      if (kinds_[ranges_.name[i].value] == Kind::Loader) continue;
      execute(i, queue, launch(i));
    }
  }

  /// Those of one kind are begun and taken up in one order. A call before the capture leaves one
  /// without a launch.
  void executeCollectives(prof::ProcessId process) {
    auto& [calls, executions] = collectives_[process];
    sortByStart(calls);
    sortByStart(executions);
    CallsByKind waiting(*this, calls, executions);
    std::map<ThreadId, prof::QueueId> queues;
    for (const std::size_t i : executions) {
      const auto [queue, isNew] = queues.try_emplace(ranges_.thread[i]);
      if (isNew) queue->second = makeQueue(process, kCollectiveQueue);
      const std::optional<std::size_t> call = waiting.take(i);
      execute(i, queue->second, call ? launch(*call) : 0);
    }
  }

  /// The calls that wait for their execution.
  class CallsByKind {
   public:
    CallsByKind(HostDevice& device, const std::vector<std::size_t>& calls,
                const std::vector<std::size_t>& executions)
        : device_(device) {
      std::set<std::size_t> executed;
      for (const std::size_t i : executions) executed.insert(kindOf(i));
      for (const std::size_t i : calls) {
        const std::size_t kind = kindOf(i);
        // Some are executed as another one: a reduction to shares as one to all.
        if (kind != prof::kNoCollective)
          waiting_[executed.contains(kind) ? kind : prof::kNoCollective].push_back(i);
      }
    }
    /// The first one that execution `i` may be of.
    std::optional<std::size_t> take(std::size_t i) {
      for (const std::size_t kind : {kindOf(i), prof::kNoCollective}) {
        auto& calls = waiting_[kind];
        if (calls.empty() || device_.ranges_.startNs[calls.front()] > device_.ranges_.startNs[i])
          continue;
        const std::size_t call = calls.front();
        calls.pop_front();
        return call;
      }
      return std::nullopt;
    }

   private:
    [[nodiscard]] std::size_t kindOf(std::size_t i) const {
      return prof::kindOfCollective(device_.builder_.text(device_.ranges_.name[i]));
    }
    HostDevice& device_;
    std::map<std::size_t, std::deque<std::size_t>> waiting_;
  };

  /// Nothing shows whose rows without a thread are, unless there is one device alone.
  void takeMemory(prof::ProcessId process, bool isOnly) {
    auto& rows = builder_.columns<prof::Allocation>();
    for (std::size_t i = 0; i < rows.device.size(); ++i) {
      if (rows.device[i]) continue;
      if (rows.thread[i] ? processOf(rows.thread[i]) == process : isOnly) rows.device[i] = device_;
    }
  }

  /// The number that joins the call in range `i` to what it launches.
  std::uint64_t launch(std::size_t i) {
    const std::uint64_t correlation = ++launches_;
    builder_.append(prof::ApiCall{.startNs = ranges_.startNs[i],
                                  .thread = ranges_.thread[i],
                                  .kind = prof::ApiKind::Other,
                                  .name = builder_.intern(kOperatorCall),
                                  .correlation = correlation});
    return correlation;
  }
  void execute(std::size_t i, prof::QueueId queue, std::uint64_t correlation) {
    const std::string name(pytorch::withoutEngine(builder_.text(ranges_.name[i])));
    builder_.append(
        prof::Kernel{.startNs = ranges_.startNs[i],
                     .durNs = ranges_.durNs[i],
                     .queue = queue,
                     .device = device_,
                     .correlation = correlation,
                     .name = builder_.intern(name),
                     .flags = static_cast<std::uint8_t>(ranges_.flags[i] & prof::kUnfinished)});
  }

  StoreBuilder& builder_;
  const Range::Columns& ranges_;
  std::vector<Kind> kinds_;  ///< by name
  std::unordered_map<ThreadId, Thread> threads_;
  std::map<prof::ProcessId, Collectives> collectives_;
  prof::DeviceId device_;
  prof::QueueId queue_;  ///< the last one made
  std::uint64_t launches_ = 0;
};

}  // namespace

void addHostDevice(StoreBuilder& builder) {
  if (!hasDevice(builder)) HostDevice(builder).add();
}

}  // namespace lacuna::analyzer
