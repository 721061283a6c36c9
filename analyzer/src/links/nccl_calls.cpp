// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "links/nccl_calls.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>

#include "formats/kernel_name.h"
#include "lacuna/analyzer/store.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
namespace {

using prof::TimeNs;

constexpr std::uint32_t kNoGroup = UINT32_MAX;

struct Call {
  CollectiveKind kind = CollectiveKind::Unknown;
  std::uint64_t communicator = 0;
  std::uint64_t bytes = 0;  ///< of the message
  friend bool operator==(const Call&, const Call&) = default;
};

struct Launched {
  std::uint64_t kernel = 0;
  CollectiveKind kind = CollectiveKind::Unknown;  ///< by its name
};

/// The unit that NCCL launches together: a call, or all calls of a group.
struct Group {
  std::vector<Call> calls;
  std::vector<Launched> kernels;
};

/// A number after a field's name, in a payload written as "name=value" or as JSON.
std::optional<std::uint64_t> numberIn(std::string_view text, std::string_view field) {
  std::size_t at = text.find(field);
  if (at == std::string_view::npos) return std::nullopt;
  at = std::min(text.find_first_not_of("\"=: ", at + field.size()), text.size());
  std::uint64_t value = 0;
  const auto read = std::from_chars(text.data() + at, text.data() + text.size(), value);
  if (read.ec != std::errc()) return std::nullopt;
  return value;
}

constexpr std::string_view kCommunicator = "NCCL communicator ID";
constexpr std::string_view kMessage = "Message size [bytes]";
constexpr std::string_view kRanks = "No. of ranks";
/// In a process that has all ranks: ncclCommInitAll().
constexpr std::string_view kDevices = "No. of devices";

/// The state that a thread has open while its ranges go by.
struct ThreadState {
  struct Interval {
    TimeNs startNs, endNs;
    std::uint32_t group;
  };
  int depth = 0;                   ///< of groups
  std::uint32_t group = kNoGroup;  ///< the open one
  TimeNs callEndNs = INT64_MIN;  ///< ranges that begin before it are of NCCL's own calls to itself
  std::vector<Interval>
      launching;       ///< in order, disjoint: what is launched meanwhile belongs to the group
  std::size_t at = 0;  ///< in them, while launches go by
};

class Builder {
 public:
  Builder(const Store& store, const OwnerTree& owners) : store_(store), owners_(owners) {}

  NcclCalls build() {
    domain_ = store_.find("NCCL");
    if (!domain_) return {};
    readMarks();
    readRanges();
    if (groups_.empty()) return std::move(out_);
    readLaunches();
    readKernels();
    for (const Group& group : groups_) share(group);
    std::ranges::sort(out_.work, {}, &NcclWork::kernel);
    return std::move(out_);
  }

 private:
  void noteRanks(std::string_view text) {
    const auto communicator = numberIn(text, kCommunicator);
    auto ranks = numberIn(text, kRanks);
    if (!ranks) ranks = numberIn(text, kDevices);
    if (communicator && ranks)
      out_.ranks[*communicator] =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(*ranks, UINT32_MAX));
  }

  void readMarks() {
    using prof::Mark;
    (void)store_.scan<&Mark::domain, &Mark::text>({}, [&](std::uint64_t, auto domains, auto texts) {
      for (std::size_t i = 0; i < domains.size(); ++i) {
        if (domains[i] == domain_) noteRanks(store_.text(texts[i]));
      }
    });
  }

  void readRanges() {
    using prof::Range;
    (void)store_.scan<&Range::startNs, &Range::durNs, &Range::thread, &Range::domain, &Range::name,
                      &Range::text>({}, [&](std::uint64_t, auto starts, auto lengths, auto threads,
                                            auto domains, auto names, auto texts) {
      for (std::size_t i = 0; i < starts.size(); ++i) {
        if (domains[i] != domain_) continue;
        take(threads_[threads[i].value], starts[i], starts[i] + lengths[i], names[i], texts[i]);
      }
    });
  }

  void take(ThreadState& thread, TimeNs startNs, TimeNs endNs, prof::StringId name,
            prof::StringId text) {
    if (startNs < thread.callEndNs) return;
    const std::string_view function = store_.text(name);
    if (function.starts_with("ncclGroupStart")) {
      if (thread.depth++ == 0) thread.group = newGroup();
    } else if (function.starts_with("ncclGroupEnd")) {
      thread.callEndNs = endNs;
      if (thread.depth == 0 || --thread.depth > 0) return;
      thread.launching.push_back({startNs, endNs, thread.group});
    } else if (const auto call = callOf(name, text)) {
      thread.callEndNs = endNs;
      const std::uint32_t group = thread.depth > 0 ? thread.group : newGroup();
      groups_[group].calls.push_back(*call);
      thread.launching.push_back({startNs, endNs, group});
    }
  }

  std::uint32_t newGroup() {
    groups_.emplace_back();
    return static_cast<std::uint32_t>(groups_.size() - 1);
  }

  /// Nothing for functions that move no message.
  std::optional<Call> callOf(prof::StringId name, prof::StringId text) {
    const auto [known, isNew] = calls_.try_emplace(std::uint64_t{name.value} << 32 | text.value);
    if (!isNew) return known->second;
    const std::string_view words = store_.text(text);
    noteRanks(words);
    if (const auto bytes = numberIn(words, kMessage)) {
      known->second = Call{.kind = collectiveKind(store_.text(name)),
                           .communicator = numberIn(words, kCommunicator).value_or(0),
                           .bytes = *bytes};
    }
    return known->second;
  }

  void readLaunches() {
    using prof::ApiCall;
    (void)store_.scan<&ApiCall::startNs, &ApiCall::thread, &ApiCall::correlation>(
        {}, [&](std::uint64_t, auto starts, auto threads, auto correlations) {
          for (std::size_t i = 0; i < starts.size(); ++i) {
            if (correlations[i] == 0) continue;
            const auto thread = threads_.find(threads[i].value);
            if (thread == threads_.end()) continue;
            const std::uint32_t group = groupAt(thread->second, starts[i]);
            if (group != kNoGroup)
              launches_[owners_.processOf(threads[i]).value][correlations[i]] = group;
          }
        });
  }

  static std::uint32_t groupAt(ThreadState& thread, TimeNs time) {
    auto& at = thread.at;
    while (at < thread.launching.size() && thread.launching[at].endNs <= time) ++at;
    return at < thread.launching.size() && thread.launching[at].startNs <= time
               ? thread.launching[at].group
               : kNoGroup;
  }

  void readKernels() {
    using prof::Kernel;
    (void)store_.scan<&Kernel::queue, &Kernel::correlation, &Kernel::name>(
        {}, [&](std::uint64_t first, auto queues, auto correlations, auto names) {
          for (std::size_t i = 0; i < queues.size(); ++i) {
            if (correlations[i] == 0) continue;
            const auto process = launches_.find(owners_.processOf(queues[i]).value);
            if (process == launches_.end()) continue;
            const auto group = process->second.find(correlations[i]);
            if (group == process->second.end()) continue;
            const std::string_view name = store_.text(names[i]);
            if (isCommunicationKernel(name))
              groups_[group->second].kernels.push_back({first + i, collectiveKind(name)});
          }
        });
  }

  /// Calls that send from rank to rank run in kernels of one name.
  static CollectiveKind kernelKindOf(CollectiveKind kind) {
    switch (kind) {
      case CollectiveKind::AllToAll:
      case CollectiveKind::Gather:
      case CollectiveKind::Scatter:
      case CollectiveKind::Send:
      case CollectiveKind::Receive:
        return CollectiveKind::SendReceive;
      default:
        return kind;
    }
  }

  /// Finds which kernel carries out which calls. A single kernel carries out all calls of its
  /// group. NCCL does not show how several kernels divide them. Where each kind of call has kernels
  /// of its own, these share its calls if there is only one way to.
  void share(const Group& group) {
    if (group.calls.empty() || group.kernels.empty()) return;
    if (group.kernels.size() == 1) {
      give(group.kernels[0], group.calls);
      return;
    }
    std::set<CollectiveKind> ofCalls, ofKernels;
    for (const Call& call : group.calls) ofCalls.insert(kernelKindOf(call.kind));
    for (const Launched& one : group.kernels) ofKernels.insert(one.kind);
    const bool isOneKind = ofCalls.size() == 1 && ofKernels == std::set{CollectiveKind::Unknown};
    if (isOneKind) return giveAlike(group.kernels, group.calls, true);
    if (ofCalls != ofKernels) return giveAlike(group.kernels, group.calls, false);
    for (const CollectiveKind kind : ofKernels) {
      std::vector<Call> calls;
      std::vector<Launched> kernels;
      std::ranges::copy_if(group.calls, std::back_inserter(calls),
                           [&](const Call& call) { return kernelKindOf(call.kind) == kind; });
      std::ranges::copy_if(group.kernels, std::back_inserter(kernels),
                           [&](const Launched& one) { return one.kind == kind; });
      giveAlike(kernels, calls, true);
    }
  }

  /// The same to each, if the calls are all alike and as many for each; else only what all calls
  /// have in common.
  void giveAlike(const std::vector<Launched>& kernels, const std::vector<Call>& calls,
                 bool theirs) {
    if (theirs && kernels.size() == 1) {
      give(kernels[0], calls);
      return;
    }
    const bool same =
        std::ranges::all_of(calls, [&](const Call& call) { return call == calls[0]; });
    const bool even = theirs && same && calls.size() % kernels.size() == 0;
    const std::vector<Call> part(
        calls.begin(), calls.begin() + std::ptrdiff_t(even ? calls.size() / kernels.size() : 0));
    for (const Launched& kernel : kernels) {
      if (even) {
        give(kernel, part);
      } else {
        NcclWork& work = give(kernel, calls);
        work.calls = 0;
        work.volume = {};
        if (!theirs) work.kind = kernel.kind;
      }
    }
  }

  NcclWork& give(const Launched& kernel, const std::vector<Call>& calls) {
    NcclWork work{
        .kernel = kernel.kernel, .kind = calls[0].kind, .calls = std::uint32_t(calls.size())};
    work.communicator = calls[0].communicator;
    for (const Call& call : calls) {
      work.kind = both(work.kind, call.kind);
      if (call.communicator != work.communicator) work.communicator = 0;
    }
    work.volume = volumeOf(calls);
    return out_.work.emplace_back(work);
  }

  static CollectiveKind both(CollectiveKind a, CollectiveKind b) {
    if (a == b) return a;
    const bool isPair = kernelKindOf(a) == CollectiveKind::SendReceive &&
                        kernelKindOf(b) == CollectiveKind::SendReceive;
    return isPair ? CollectiveKind::SendReceive : CollectiveKind::Several;
  }

  /// Links carry both directions at a time, so of what is sent and what is received the larger
  /// counts.
  CollectiveVolume volumeOf(const std::vector<Call>& calls) const {
    CollectiveVolume sum, received;
    bool isInputKnown = true, isKnown = true;
    for (const Call& call : calls) {
      const auto ranks = out_.ranks.find(call.communicator);
      const CollectiveVolume one =
          volumeOfMessage(call.kind, call.bytes, ranks == out_.ranks.end() ? 0 : ranks->second);
      CollectiveVolume& into = call.kind == CollectiveKind::Receive ? received : sum;
      prof::addTo(into.bytes, one.bytes);
      prof::addTo(into.algorithmBytes, one.algorithmBytes);
      prof::addTo(into.busBytes, one.busBytes);
      isInputKnown &= call.bytes == 0 || one.bytes > 0 || call.kind == CollectiveKind::Receive;
      isKnown &= call.bytes == 0 || one.algorithmBytes > 0;
    }
    sum.algorithmBytes = std::max(sum.algorithmBytes, received.algorithmBytes);
    sum.busBytes = std::max(sum.busBytes, received.busBytes);
    if (!isInputKnown) sum.bytes = 0;
    if (!isKnown) sum.algorithmBytes = 0;
    if (!isKnown) sum.busBytes = 0;
    return sum;
  }

  const Store& store_;
  const OwnerTree& owners_;
  prof::StringId domain_;
  std::unordered_map<std::uint32_t, ThreadState> threads_;
  std::unordered_map<std::uint64_t, std::optional<Call>> calls_;  // by name and text
  std::vector<Group> groups_;
  std::unordered_map<std::uint32_t, std::unordered_map<std::uint64_t, std::uint32_t>>
      launches_;  // by process
  NcclCalls out_;
};

}  // namespace

const NcclWork* NcclCalls::find(std::uint64_t kernel) const {
  const auto found = std::ranges::lower_bound(work, kernel, {}, &NcclWork::kernel);
  return found != work.end() && found->kernel == kernel ? &*found : nullptr;
}

NcclCalls buildNcclCalls(const Store& store, const OwnerTree& owners) {
  return Builder(store, owners).build();
}

}  // namespace lacuna::analyzer
