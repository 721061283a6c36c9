// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/work/sequences.h"

#include <algorithm>
#include <map>
#include <queue>
#include <tuple>
#include <unordered_map>

#include "analyses/parts.h"
#include "analyses/work/launch_index.h"
#include "analyses/work/name_guesses.h"
#include "lacuna/prof/bounds.h"
#include "lacuna/prof/nvtx_mapper.h"

namespace lacuna::analyzer {
namespace {

using prof::StringId;
using prof::TimeNs;
using prof::TimeWindow;

/// Sequences of at most so many kernels are looked for,
constexpr std::size_t kLongest = 16;
/// in so many kernels of a queue, after its first third where it has more,
constexpr std::size_t kSample = 8'192;
/// and so many of them are counted, those that join most launches.
constexpr std::size_t kMostWords = 12;
constexpr std::uint64_t kLeastCount = 3;
/// A bound on the search, which ends long before in any program's trace.
constexpr std::size_t kMostTries = 1'024;

/// A kernel in the order of its queue.
struct Item {
  StringId name;
  std::uint32_t step = 0;
  std::int64_t durNs = 0;
  std::int64_t gapNs = 0;  ///< before it
};
/// A stretch of one step's kernels with nothing else between them.
struct Segment {
  std::size_t from = 0;
  std::size_t to = 0;
};
struct Stream {
  std::vector<Item> items;
  std::vector<Segment> segments;
};

/// Where a sequence is found first, and its length.
struct Word {
  std::size_t at = 0;
  std::size_t length = 0;
};

/// Sorts device work into one stream a queue.
class StreamBuilder {
 public:
  void add(const DeviceSpan& span, std::uint32_t step, bool isMember) {
    Queue& queue = queues_[span.queue];
    if (isMember) {
      auto& [items, segments] = queue.stream;
      if (queue.isBroken || items.empty() || items.back().step != step)
        segments.push_back({items.size(), items.size()});
      const TimeNs gapNs = items.empty() ? 0 : std::max<TimeNs>(0, span.startNs - queue.busyUntil);
      items.push_back({span.name, step, span.endNs - span.startNs, gapNs});
      segments.back().to = items.size();
    }
    queue.isBroken = !isMember;
    occupy(span);
  }
  /// Work that is no part of a sequence and ends none.
  void occupy(const DeviceSpan& span) {
    TimeNs& until = queues_[span.queue].busyUntil;
    until = std::max(until, span.endNs);
  }
  template <class Visit>
  void forEach(Visit&& visit) const {
    for (const auto& [id, queue] : queues_) visit(queue.stream);
  }

 private:
  struct Queue {
    Stream stream;
    TimeNs busyUntil = INT64_MIN;
    bool isBroken = true;
  };
  std::map<prof::QueueId, Queue> queues_;
};

/// Calls visit(from, joins) for each place in the range where the word stands in free items: left
/// to right, none over another one. `joins`: it begins where the one before it ended.
template <class Visit>
void forEachPlace(const Stream& stream, Word word, const std::vector<bool>& taken, Segment range,
                  Visit&& visit) {
  const auto& items = stream.items;
  const auto stands = [&](std::size_t at) {
    for (std::size_t k = 0; k < word.length; ++k) {
      if (items[at + k].name != items[word.at + k].name || taken[at + k]) return false;
    }
    return true;
  };
  auto segment =
      std::partition_point(stream.segments.begin(), stream.segments.end(),
                           [&](const Segment& segment) { return segment.to <= range.from; });
  for (; segment != stream.segments.end() && segment->from < range.to; ++segment) {
    const std::size_t to = std::min(segment->to, range.to);
    std::size_t end = SIZE_MAX;
    for (std::size_t at = std::max(segment->from, range.from); at + word.length <= to;) {
      if (!stands(at)) {
        ++at;
        continue;
      }
      visit(at, at == end);
      at += word.length;
      end = at;
    }
  }
}

/// Finds the sequences that join most launches, the best first, none of them in another one's
/// kernels.
class WordFinder {
 public:
  explicit WordFinder(const Stream& stream) : stream_(stream), taken_(stream.items.size()) {
    // Set-up and the first steps are not what a program does all the time.
    const std::size_t count = stream.items.size();
    sample_.from = count > kSample ? count / 3 : 0;
    sample_.to = std::min(count, sample_.from + kSample);
    std::uint64_t steps = 0;
    for (std::size_t i = sample_.from; i < sample_.to; ++i)
      steps += i == sample_.from || stream.items[i].step != stream.items[i - 1].step ? 1 : 0;
    // Only half of a step may be there where the sample cuts it.
    if (count > kSample && steps > 1) --steps;
    leastCount_ = std::max(kLeastCount, 2 * steps);
    leastWeight_ = std::max<std::uint64_t>(4, (sample_.to - sample_.from) / 100);
  }

  std::vector<Word> find() {
    auto order = candidates();
    std::vector<Word> words;
    for (std::size_t tries = 0; !order.empty() && words.size() < kMostWords && tries < kMostTries;
         ++tries) {
      Candidate best = order.top();
      order.pop();
      best.weight = weigh(best.word);
      if (best.weight < leastWeight_) continue;
      if (!order.empty() && best < order.top()) {
        order.push(best);
        continue;
      }
      forEachPlace(stream_, best.word, taken_, sample_,
                   [&](std::size_t at, bool) { chosen_.push_back(at); });
      for (const std::size_t at : chosen_)
        std::fill_n(taken_.begin() + static_cast<std::ptrdiff_t>(at), best.word.length, true);
      chosen_.clear();
      words.push_back(best.word);
    }
    return words;
  }

 private:
  struct Candidate {
    std::uint64_t weight = 0;  ///< launches that would go if each stretch were one
    Word word;
    /// The shorter of equal ones wins, so that none is a repetition of a shorter one; then the
    /// earlier.
    friend bool operator<(const Candidate& a, const Candidate& b) {
      return std::tuple(a.weight, b.word.length, b.word.at) <
             std::tuple(b.weight, a.word.length, a.word.at);
    }
  };
  struct Gram {
    Word word;
    std::uint64_t count = 0;
    std::uint64_t weight = 0;
    std::size_t end = SIZE_MAX;  ///< of its last place
  };

  std::priority_queue<Candidate> candidates() const {
    std::unordered_map<std::uint64_t, Gram> grams;
    for (const Segment& segment : stream_.segments) {
      const std::size_t to = std::min(segment.to, sample_.to);
      for (std::size_t at = std::max(segment.from, sample_.from); at < to; ++at) {
        std::uint64_t hash = 0;
        for (std::size_t length = 1; length <= kLongest && at + length <= to; ++length) {
          hash = (hash ^ stream_.items[at + length - 1].name.value) * 0x9e3779b97f4a7c15u;
          hash ^= hash >> 29;
          Gram& gram = grams.try_emplace(hash, Gram{{at, length}}).first->second;
          if (gram.count > 0 && at < gram.end) continue;  // over its last place
          ++gram.count;
          gram.weight += at == gram.end && at > segment.from ? length : length - 1;
          gram.end = at + length;
        }
      }
    }
    std::priority_queue<Candidate> out;
    for (const auto& [hash, gram] : grams) {
      if (gram.count >= leastCount_ && gram.weight >= leastWeight_)
        out.push({gram.weight, gram.word});
    }
    return out;
  }

  [[nodiscard]] std::uint64_t weigh(Word word) const {
    std::uint64_t weight = 0;
    std::uint64_t count = 0;
    forEachPlace(stream_, word, taken_, sample_, [&](std::size_t, bool joins) {
      weight += joins ? word.length : word.length - 1;
      ++count;
    });
    return count < leastCount_ ? 0 : weight;
  }

  const Stream& stream_;
  Segment sample_;
  std::vector<bool> taken_;
  std::vector<std::size_t> chosen_;
  std::uint64_t leastCount_ = 0;
  std::uint64_t leastWeight_ = 0;
};

using Rows = std::map<std::vector<StringId>, SequenceRow>;

std::vector<StringId> namesOf(const Stream& stream, Word word) {
  std::vector<StringId> names;
  for (std::size_t i = word.at; i < word.at + word.length; ++i)
    names.push_back(stream.items[i].name);
  return names;
}

void addRepeated(const Stream& stream, Rows& rows) {
  std::vector<bool> taken(stream.items.size());
  for (const Word word : WordFinder(stream).find()) {
    SequenceRow& row = rows[namesOf(stream, word)];
    std::vector<std::size_t> places;
    forEachPlace(stream, word, taken, {0, stream.items.size()}, [&](std::size_t at, bool joins) {
      places.push_back(at);
      ++row.count;
      row.runs += joins ? 0 : 1;
      for (std::size_t i = at; i < at + word.length; ++i) {
        prof::addTo(row.deviceNs, stream.items[i].durNs);
        if (i > at || joins) prof::addTo(row.gapNs, stream.items[i].gapNs);
      }
    });
    for (const std::size_t at : places)
      std::fill_n(taken.begin() + static_cast<std::ptrdiff_t>(at), word.length, true);
  }
}

template <class IsPointwise>
void addPointwise(const Stream& stream, IsPointwise&& isPointwise, Rows& rows) {
  for (const Segment& segment : stream.segments) {
    for (std::size_t at = segment.from; at < segment.to;) {
      std::size_t end = at;
      while (end < segment.to && isPointwise(stream.items[end].name)) ++end;
      if (end - at >= 2) {
        SequenceRow& row = rows[namesOf(stream, {at, end - at})];
        ++row.count;
        ++row.runs;
        for (std::size_t i = at; i < end; ++i) {
          prof::addTo(row.deviceNs, stream.items[i].durNs);
          if (i > at) prof::addTo(row.gapNs, stream.items[i].gapNs);
        }
      }
      at = std::max(end, at + 1);
    }
  }
}

std::vector<SequenceRow> sorted(Rows&& rows) {
  std::vector<SequenceRow> out;
  for (auto& [names, row] : rows) {
    row.kernels = names;
    out.push_back(std::move(row));
  }
  std::stable_sort(out.begin(), out.end(), [](const SequenceRow& a, const SequenceRow& b) {
    return std::tuple(a.gapNs, a.deviceNs) > std::tuple(b.gapNs, b.deviceNs);
  });
  return out;
}

void merge(std::vector<SequenceRow>& into, std::vector<SequenceRow> more) {
  if (into.empty()) {
    into = std::move(more);
    return;
  }
  Rows rows;
  for (auto* part : {&into, &more}) {
    for (SequenceRow& row : *part) {
      SequenceRow& sum = rows[row.kernels];
      sum.count += row.count;
      sum.runs += row.runs;
      prof::addTo(sum.deviceNs, row.deviceNs);
      prof::addTo(sum.gapNs, row.gapNs);
    }
  }
  into = sorted(std::move(rows));
}

}  // namespace

SequenceStats kernelSequences(const Store& store, const Timeline& timeline,
                              const LaunchIndex& launches, TimeWindow window, const Steps& steps,
                              const StepSpans& spans) {
  StreamBuilder streams;
  for (const DeviceSpan& span : timeline.device) {
    if (span.startNs < window.startNs || span.startNs >= window.endNs) continue;
    const HostSpan* launch = launches.find(span);
    const TimeNs launchedNs = launch != nullptr ? launch->startNs : span.startNs;
    if (!spans.hold(launchedNs)) continue;
    // Work that the runtime does for itself stands between no two kernels of the program.
    if (launch != nullptr && store.text(launch->name) == prof::kUpkeepCall) {
      streams.occupy(span);
      continue;
    }
    const bool computes = span.kind == DeviceSpanKind::Kernel && span.work == Work::Compute;
    streams.add(span, static_cast<std::uint32_t>(countBy(steps.all, &Step::startNs, launchedNs)),
                computes);
  }
  std::unordered_map<StringId, bool> pointwise;
  const auto isPointwise = [&](StringId name) {
    const auto [entry, isNew] = pointwise.try_emplace(name, false);
    if (isNew) entry->second = isPointwiseWork(store.text(name));
    return entry->second;
  };
  Rows repeated, runs;
  streams.forEach([&](const Stream& stream) {
    addRepeated(stream, repeated);
    addPointwise(stream, isPointwise, runs);
  });
  return {sorted(std::move(repeated)), sorted(std::move(runs))};
}

void mergeSequences(SequenceStats& into, SequenceStats more) {
  merge(into.repeated, std::move(more.repeated));
  merge(into.pointwise, std::move(more.pointwise));
}

namespace of_sequences {
namespace {

void add(Analysis& analysis, const TraceChunk& chunk) {
  mergeSequences(analysis.of<SequenceStats>(),
                 kernelSequences(*analysis.store, chunk.timeline, chunk.index, chunk.inSteps,
                                 analysis.steps, analysis.scope.steps));
}

}  // namespace
}  // namespace of_sequences

constinit const AnalysisPart parts::sequences{
    .name = "sequences",
    .add = of_sequences::add,
};

}  // namespace lacuna::analyzer
