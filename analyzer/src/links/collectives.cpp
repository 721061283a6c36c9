// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "formats/kernel_name.h"
#include "lacuna/analyzer/links.h"
#include "lacuna/analyzer/store.h"
#include "lacuna/analyzer/text.h"
#include "lacuna/prof/bounds.h"
#include "links/nccl_calls.h"

namespace lacuna::analyzer {
namespace {

/// Bytes of one element, by the name that PyTorch's process groups use.
std::uint64_t bytesOf(std::string_view type) {
  if (type == "Double" || type == "Long") return 8;
  if (type == "Half" || type == "BFloat16" || type == "Short") return 2;
  if (type == "Byte" || type == "Char" || type == "Bool" || type.starts_with("Float8")) return 1;
  return type == "Float" || type == "Int" ? 4 : 0;
}

/// Bytes that must cross a rank's link for each byte of the whole buffer.
double busFactor(CollectiveKind kind, std::uint32_t ranks) {
  const double share = ranks == 0 ? 0 : static_cast<double>(ranks - 1) / ranks;
  switch (kind) {
    case CollectiveKind::AllReduce:
      return 2 * share;
    case CollectiveKind::AllGather:
    case CollectiveKind::ReduceScatter:
    case CollectiveKind::AllToAll:
    case CollectiveKind::Gather:
    case CollectiveKind::Scatter:
      return share;
    case CollectiveKind::Unknown:
    case CollectiveKind::Several:
      return 0;
    default:
      return 1;
  }
}

/// Lists what kernels carry out, each communicator once.
class Listing {
 public:
  explicit Listing(const Store& store) : store_(store), calls_(store.links().ncclCalls()) {
    number({});  // none
  }

  void add(Collective one, prof::ArgSetId set) {
    one.kind = kindOf(one.name);
    if (!describe(set, one)) join(one);
    out_.calls.push_back(one);
  }
  bool isCommunication(prof::StringId name) {
    const auto [at, isNew] = communication_.try_emplace(name, false);
    if (isNew) at->second = isCommunicationKernel(store_.text(name));
    return at->second;
  }
  CollectiveList take() { return std::move(out_); }

 private:
  CollectiveKind kindOf(prof::StringId name) {
    const auto [at, isNew] = kinds_.try_emplace(name, CollectiveKind::Unknown);
    if (isNew) at->second = collectiveKind(store_.text(name));
    return at->second;
  }

  std::uint32_t number(Communicator communicator) {
    auto& list = out_.communicators;
    const auto [at, isNew] =
        places_.try_emplace({communicator.name, communicator.group, communicator.ranks},
                            static_cast<std::uint32_t>(list.size()));
    if (isNew) list.push_back(std::move(communicator));
    return at->second;
  }

  /// By the kernel's own arguments. False where they show nothing.
  bool describe(prof::ArgSetId set, Collective& one) {
    if (!set) return false;
    if (!args_) args_.emplace(store_);
    const auto name = args_->text(set, "Collective name");
    const auto group = args_->text(set, "Process Group Name");
    if (!name && !group) return false;
    if (name && collectiveKind(*name) != CollectiveKind::Unknown) one.kind = collectiveKind(*name);
    Communicator communicator;
    if (group) communicator.name = communicator.group = *group;
    const auto words = args_->text(set, "Process Group Description");
    if (words && !words->empty() && *words != "undefined") communicator.name = *words;
    const auto ranks = args_->integer(set, "Group size");
    if (ranks && *ranks > 0)
      communicator.ranks = static_cast<std::uint32_t>(std::min<std::int64_t>(*ranks, UINT32_MAX));
    const bool isScatter = one.kind == CollectiveKind::Scatter;
    const auto values = args_->integer(set, isScatter ? "Out msg nelems" : "In msg nelems");
    const auto type = args_->text(set, "dtype");
    if (values && type && *values > 0) {
      one.calls = 1;
      one.volume = volumeOfInput(
          one.kind, prof::productOf(static_cast<std::uint64_t>(*values), bytesOf(*type)),
          communicator.ranks);
    }
    one.communicator = number(std::move(communicator));
    return true;
  }

  void join(Collective& one) {
    const NcclWork* work = calls_.find(one.kernel);
    if (work == nullptr) return;
    if (work->kind != CollectiveKind::Unknown) one.kind = work->kind;
    one.calls = work->calls;
    one.volume = work->volume;
    if (work->communicator == 0) return;
    const auto [at, isNew] = numbers_.try_emplace(work->communicator, 0);
    if (isNew) {
      const auto ranks = calls_.ranks.find(work->communicator);
      at->second = number({.name = fmt::format("{:#x}", work->communicator),
                           .group = {},
                           .ranks = ranks == calls_.ranks.end() ? 0 : ranks->second});
    }
    one.communicator = at->second;
  }

  const Store& store_;
  const NcclCalls& calls_;
  std::optional<Args> args_;
  std::unordered_map<prof::StringId, bool> communication_;
  std::unordered_map<prof::StringId, CollectiveKind> kinds_;
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;  // of communicators, by NCCL's
  CollectiveList out_;
  /// The position of a communicator in out_.communicators, by its name, group and ranks.
  std::map<std::tuple<std::string, std::string, std::uint32_t>, std::uint32_t> places_;
};

}  // namespace

std::string_view nameOf(CollectiveKind kind) {
  static constexpr std::string_view kNames[] = {
      "",        "all_reduce",       "all_gather", "reduce_scatter", "broadcast",
      "reduce",  "all_to_all",       "gather",     "scatter",        "send",
      "receive", "send and receive", "several"};
  return kNames[static_cast<std::size_t>(kind)];
}

CollectiveKind collectiveKind(std::string_view name) {
  using enum CollectiveKind;
  // The longer names first: most of the others are parts of one.
  static constexpr std::pair<std::string_view, CollectiveKind> kWords[] = {
      {"crossdevicereduce", AllReduce},
      {"allreduce", AllReduce},
      {"allgather", AllGather},
      {"reducescatter", ReduceScatter},
      {"alltoall", AllToAll},
      {"sendrecv", SendReceive},
      {"broadcast", Broadcast},
      {"bcast", Broadcast},
      {"gather", Gather},
      {"scatter", Scatter},
      {"reduce", Reduce},
      {"send", Send},
      {"recv", Receive}};
  std::string letters(name);
  std::erase(letters, '_');
  for (const auto& [word, kind] : kWords) {
    if (containsAnyCase(letters, word)) return kind;
  }
  return Unknown;
}

CollectiveVolume volumeOfInput(CollectiveKind kind, std::uint64_t bytes, std::uint32_t ranks) {
  CollectiveVolume out{
      .bytes = kind == CollectiveKind::Receive ? 0 : bytes, .algorithmBytes = 0, .busBytes = 0};
  if (kind == CollectiveKind::Unknown || kind == CollectiveKind::Several) return out;
  const bool isPart = kind == CollectiveKind::AllGather || kind == CollectiveKind::Gather ||
                      kind == CollectiveKind::Scatter;
  out.algorithmBytes = isPart ? prof::productOf(bytes, ranks) : bytes;
  out.busBytes = static_cast<double>(out.algorithmBytes) * busFactor(kind, ranks);
  return out;
}

CollectiveVolume volumeOfMessage(CollectiveKind kind, std::uint64_t bytes, std::uint32_t ranks) {
  const bool isPart = kind == CollectiveKind::ReduceScatter || kind == CollectiveKind::AllToAll;
  return volumeOfInput(kind, isPart ? prof::productOf(bytes, ranks) : bytes, ranks);
}

prof::Result<CollectiveList> listCollectives(const Store& store, prof::TimeWindow window) {
  using prof::Kernel;
  Listing listing(store);
  const auto status = store.scan<&Kernel::startNs, &Kernel::durNs, &Kernel::queue, &Kernel::device,
                                 &Kernel::name, &Kernel::args>(
      window,
      [&](std::uint64_t first, auto start, auto dur, auto queue, auto device, auto name, auto set) {
        for (std::size_t i = 0; i < start.size(); ++i) {
          if (start[i] < window.startNs || start[i] >= window.endNs) continue;
          if (!listing.isCommunication(name[i])) continue;
          listing.add({.kernel = first + i,
                       .startNs = start[i],
                       .endNs = start[i] + dur[i],
                       .queue = queue[i],
                       .device = device[i],
                       .name = name[i]},
                      set[i]);
        }
      });
  if (!status) return status.error();
  return listing.take();
}

}  // namespace lacuna::analyzer
