// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <unordered_map>

#include "lacuna/analyzer/files.h"
#include "lacuna/analyzer/store.h"
#include "merge/align.h"
#include "store/damage_watch.h"
#include "store/each_row.h"

namespace lacuna::analyzer {

using namespace prof;

namespace {

constexpr std::string_view kFormatKey = "source.format";
/// Ids of flows beyond are no file's own count.
constexpr std::uint64_t kMostCounted = std::uint64_t{1} << 40;

/// Keys of environment rows that end in the id of a place.
constexpr std::array<std::pair<std::string_view, Refers>, 4> kPlaceKeys = {
    {{"chrome.pid.", Refers::Process},
     {"chrome.tid.", Refers::Thread},
     {"chrome.device.", Refers::Device},
     {"chrome.stream.", Refers::Queue}}};

/// Appends the rows of one trace after the other.
class Merge {
 public:
  /// `sameFormat`: all inputs came from files of one kind, so that the merged trace can be written
  /// as such a file. `flowStride`: how far apart the inputs' flows are numbered where each file
  /// counts its own; 0 keeps the numbers.
  Merge(std::size_t inputs, bool sameFormat, std::uint64_t flowStride)
      : isAlone_(inputs < 2), sameFormat_(sameFormat), flowStride_(flowStride) {
    if (flowStride_ != 0) addFact("merge.flow_stride", std::to_string(flowStride_));
  }

  prof::Status add(const Store& store, const Alignment& alignment, std::size_t number,
                   bool numberRanks) {
    store_ = &store;
    texts_.assign(store.stringCount(), StringId());
    for (std::uint32_t i = 1; i < store.stringCount(); ++i)
      texts_[i] = builder_.intern(store.text(StringId(i)));
    ids_.clear();
    prof::Status status;
    forEachTable([&]<class Row>() {
      if (status) status = numberRows<Row>();
    });
    forEachTable([&]<class Row>() {
      if (status) status = addRows<Row>(alignment.offsetNs, number, numberRanks);
    });
    if (!status) return status;
    addFact(number, "threads", std::to_string(last_[Thread::kTable]));
    addFact(number, "queues", std::to_string(last_[Queue::kTable]));
    addFact(number, "path", store.path().string());
    addFact(number, "aligned_by", nameOf(alignment.how));
    addFact(number, "offset_ns", std::to_string(alignment.offsetNs));
    addFact(number, "matches", std::to_string(alignment.matches));
    addFact(number, "spread_ns", std::to_string(alignment.spreadNs));
    for (std::string& warning : store.warnings())
      builder_.addWarning(fmt::format("{}: {}", store.path().string(), warning));
    return {};
  }
  void warn(std::string text) { builder_.addWarning(std::move(text)); }
  std::shared_ptr<const Store> finish() { return builder_.build(); }

 private:
  using Ids = std::unordered_map<std::uint32_t, std::uint32_t>;

  void addFact(std::string_view key, std::string_view value) {
    builder_.append(Environment{{}, builder_.intern(key), builder_.intern(value)});
  }
  void addFact(std::size_t number, std::string_view what, std::string_view value) {
    addFact(fmt::format("merge.input{}.{}", number, what), value);
  }

  /// New ids for the rows that others refer to.
  template <class Row>
  prof::Status numberRows() {
    if constexpr (requires(Row row) { row.id.value; }) {
      Ids& ids = ids_[detail::refersOf<decltype(Row::id)>()];
      std::uint32_t& last = last_[Row::kTable];
      return eachRow<Row>(*store_, [&](const Row& row) {
        if constexpr (std::is_same_v<Row, Device>) {
          const std::string uuid(store_->text(row.uuid));
          if (!uuid.empty()) {
            const auto [at, isNew] = devices_.try_emplace(uuid, last + 1);
            if (isNew) ++last;
            ids.try_emplace(row.id.value, at->second);
            return;
          }
        }
        if (ids.try_emplace(row.id.value, last + 1).second) ++last;
      });
    }
    return {};
  }

  std::uint32_t mapped(Refers refers, std::uint32_t id) const {
    const auto table = ids_.find(refers);
    if (id == 0 || table == ids_.end()) return 0;
    const auto found = table->second.find(id);
    return found == table->second.end() ? 0 : found->second;
  }

  template <class Row>
  prof::Status addRows(std::int64_t offsetNs, std::size_t number, bool numberRanks) {
    return eachRow<Row>(*store_, [&](Row& row) {
      Row::forEachMember([&]<auto Member>() {
        auto& value = row.*Member;
        using T = std::remove_cvref_t<decltype(value)>;
        if constexpr (std::is_same_v<T, StringId>) {
          value = value.value < texts_.size() ? texts_[value.value] : StringId();
        } else if constexpr (detail::refersOf<T>() != Refers::Nothing) {
          value.value = mapped(detail::refersOf<T>(), value.value);
        }
      });
      if constexpr (requires { row.startNs; }) row.startNs += offsetNs;
      if constexpr (requires { row.timeNs; }) row.timeNs += offsetNs;
      if constexpr (requires { row.endNs; }) row.endNs += offsetNs;
      if constexpr (std::is_same_v<Row, Process>) {
        if (numberRanks && row.rank < 0) row.rank = static_cast<std::int32_t>(number);
      }
      if constexpr (std::is_same_v<Row, Flow>) {
        if (row.id < kMostCounted) row.id += number * flowStride_;
      }
      if constexpr (std::is_same_v<Row, Arg>) {
        const bool isText = row.type == ArgType::Text || row.type == ArgType::Json;
        if (isText) row.value = row.value < texts_.size() ? texts_[row.value].value : 0;
      }
      if constexpr (std::is_same_v<Row, Environment>) {
        row.key = environmentKey(row.key, number);
      }
      if constexpr (std::is_same_v<Row, Device>) {
        if (row.uuid && !known_.emplace(row.id).second) return;
      }
      builder_.append(row);
    });
  }

  /// Keys that name a place by its id follow the id; what surrounds one file's events gets the
  /// number of its input.
  StringId environmentKey(StringId key, std::size_t number) {
    const std::string text(builder_.text(key));
    for (const auto& [prefix, refers] : kPlaceKeys) {
      if (!text.starts_with(prefix)) continue;
      std::uint32_t id = 0;
      std::from_chars(text.data() + prefix.size(), text.data() + text.size(), id);
      return builder_.intern(fmt::format("{}{}", prefix, mapped(refers, id)));
    }
    const bool isOfMerge = text.starts_with("merge.");
    if (isOfMerge || (!sameFormat_ && text == kFormatKey))
      return builder_.intern(fmt::format("input{}.{}", number, text));
    const bool isShared = text == "chrome.metadata" || text == "chrome.event" || text == kFormatKey;
    if (isAlone_ || number == 0 || isShared || !text.starts_with("chrome.")) return key;
    return builder_.intern(fmt::format("input{}.{}", number, text));
  }

  StoreBuilder builder_;
  const Store* store_ = nullptr;
  bool isAlone_;
  bool sameFormat_;
  std::uint64_t flowStride_;
  std::vector<StringId> texts_;
  std::map<Refers, Ids> ids_;
  std::map<std::uint16_t, std::uint32_t> last_;
  std::map<std::string, std::uint32_t> devices_;
  std::set<DeviceId> known_;
};

/// The kind of file that a trace was imported from; empty for recordings.
std::string_view formatOf(const Store& store) {
  for (std::uint64_t i = 0; i < store.rows<Environment>(); ++i) {
    const auto row = store.row<Environment>(i);
    if (store.text(row.key) == kFormatKey) return store.text(row.value);
  }
  return {};
}

/// One more than all ids of flows, those that repeat a correlation included.
std::uint64_t flowStrideOf(std::span<const std::shared_ptr<const Store>> inputs) {
  std::uint64_t most = 0;
  for (const auto& store : inputs) {
    const auto see = [&](std::uint64_t, auto ids) {
      for (const std::uint64_t id : ids) most = id < kMostCounted ? std::max(most, id) : most;
    };
    (void)store->scan<&Flow::id>({}, see);
    (void)store->scan<&ApiCall::correlation>({}, see);
    (void)store->scan<&Kernel::correlation>({}, see);
    (void)store->scan<&Memcpy::correlation>({}, see);
    (void)store->scan<&Memset::correlation>({}, see);
    (void)store->scan<&Sync::correlation>({}, see);
  }
  return most + 1;
}

bool hasRanks(const Store& store) {
  return std::ranges::any_of(store.column<&Process::rank>(),
                             [](std::int32_t rank) { return rank >= 0; });
}

/// Ranks that two inputs claim to be, as where one trace is given twice: what they did counts as
/// one rank's.
std::vector<std::string> sharedRanks(std::span<const std::shared_ptr<const Store>> inputs) {
  std::vector<std::string> warnings;
  std::map<std::int32_t, std::size_t> owners;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto ranks = inputs[i]->column<&Process::rank>();
    for (const std::int32_t rank : std::set(ranks.begin(), ranks.end())) {
      const auto [owner, isNew] = owners.try_emplace(rank, i);
      if (rank < 0 || isNew) continue;
      warnings.push_back(
          fmt::format("{} and {} both claim to be rank {}; what they did counts as one rank's",
                      inputs[owner->second]->path().string(), inputs[i]->path().string(), rank));
    }
  }
  return warnings;
}

}  // namespace

std::string_view nameOf(AlignedBy how) {
  switch (how) {
    case AlignedBy::Reference:
      return "reference";
    case AlignedBy::Collectives:
      return "collectives";
    case AlignedBy::Clocks:
      return "clocks";
    case AlignedBy::Markers:
      return "markers";
    case AlignedBy::Start:
      return "start";
  }
  return "";
}

prof::Result<Merged> mergeTraces(std::span<const std::shared_ptr<const Store>> inputs) {
  Merged out;
  std::vector<DamageWatch> watches;
  for (const auto& store : inputs) watches.emplace_back(*store);
  const bool numberRanks =
      std::ranges::none_of(inputs, [](const auto& store) { return hasRanks(*store); });
  const bool sameFormat = std::ranges::all_of(
      inputs, [&](const auto& store) { return formatOf(*store) == formatOf(*inputs[0]); });
  // A recording's flows are numbered by the program, which may mean the same flow in all ranks.
  const bool countsFlows = inputs.size() > 1 && sameFormat && formatOf(*inputs[0]) == "kineto";
  Merge merge(inputs.size(), sameFormat, countsFlows ? flowStrideOf(inputs) : 0);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    out.alignments.push_back(i == 0 ? Alignment() : alignTo(*inputs[0], *inputs[i]));
    if (const auto status = merge.add(*inputs[i], out.alignments.back(), i, numberRanks); !status)
      return status.error();
  }
  for (const DamageWatch& watch : watches) {
    if (const auto status = watch.status(); !status) return status.error();
  }
  for (std::string& warning : sharedRanks(inputs)) merge.warn(std::move(warning));
  out.store = merge.finish();
  return out;
}

}  // namespace lacuna::analyzer
