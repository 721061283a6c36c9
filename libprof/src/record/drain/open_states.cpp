// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "record/drain/open_states.h"

#include <algorithm>

namespace lacuna::prof::recording {
namespace {

enum class OpenEntry : std::uint8_t { Ranges = 1, QueueData = 2, Started = 3, Ended = 4 };

/// Ranges in an entry, so that none needs much memory.
constexpr std::size_t kPart = 4096;

Saver begin(OpenEntry kind, const std::string& recorder) {
  Saver entry;
  entry.put(kind);
  entry.put(recorder);
  return entry;
}

Saver begin(OpenEntry kind, const std::string& recorder, const OpenStates::ThreadKey& thread) {
  Saver entry = begin(kind, recorder);
  entry.put(thread.first);
  entry.put(thread.second);
  return entry;
}

/// A range that no program of ours has written is not kept: a stack relies on it.
bool isSound(const KeptRange& kept) {
  const bool flags = kept.hasQueueData <= 1 && kept.hasDetails <= 1 && kept.isSeveral <= 1;
  // A record that stands for several ranges has a count, and neither details nor data of a single
  // one.
  const bool several =
      kept.isSeveral == 0 || (kept.times() > 0 && kept.hasDetails == 0 && kept.hasQueueData == 0);
  return flags && several;
}

RangeDetails getDetails(Loader& loader) {
  const auto details = loader.get<RangeDetails>();
  if (details.payloadType > PayloadType::F32) loader.fail();
  return details;
}

/// Calls put(entry, first, last) for each part of what is after `from`, at least once.
template <class Put>
void inParts(std::size_t from, std::size_t size, const Put& put) {
  do {
    const std::size_t last = std::min(from + kPart, size);
    put(from, last);
    from = last;
  } while (from < size);
}

}  // namespace

void OpenStates::save(const std::string& recorder, const ThreadKey& thread, RangeStacks& stacks,
                      bool anew, OpenLog& log) {
  for (const OpenStack& stack : stacks.stacks_) {
    const std::size_t size = stack.kept_.size();
    const bool changed = stack.part_.changed(size) || stack.skipped_ != stack.skippedSaved_;
    if (anew ? stack.empty() : !changed) continue;
    const std::size_t same = anew ? 0 : stack.part_.same();
    // The details of the ranges after that, which are the last ones.
    auto details =
        stack.details_.end() -
        std::count_if(stack.kept_.begin() + static_cast<std::ptrdiff_t>(same), stack.kept_.end(),
                      [](const KeptRange& kept) { return kept.hasDetails; });
    inParts(same, size, [&](std::size_t first, std::size_t last) {
      Saver entry = begin(OpenEntry::Ranges, recorder, thread);
      entry.put(stack.domain_);
      entry.put(stack.skipped_);
      entry.put(static_cast<std::uint64_t>(first));
      entry.put(static_cast<std::uint64_t>(last - first));
      for (; first < last; ++first) {
        entry.put(stack.kept_[first]);
        if (stack.kept_[first].hasDetails) entry.put(*details++);
      }
      log.put(entry);
    });
  }
  const std::size_t size = stacks.queueData_.size();
  if (anew ? size == 0 : !stacks.queueDataPart_.changed(size)) return;
  inParts(anew ? 0 : stacks.queueDataPart_.same(), size, [&](std::size_t first, std::size_t last) {
    Saver entry = begin(OpenEntry::QueueData, recorder, thread);
    entry.put(static_cast<std::uint64_t>(first));
    entry.put(static_cast<std::uint64_t>(last - first));
    for (; first < last; ++first) entry.put(stacks.queueData_[first]);
    log.put(entry);
  });
}

void OpenStates::saved(RangeStacks& stacks) {
  for (OpenStack& stack : stacks.stacks_) {
    stack.part_.saved(stack.kept_.size());
    stack.skippedSaved_ = stack.skipped_;
  }
  stacks.queueDataPart_.saved(stacks.queueData_.size());
}

void OpenStates::save(const std::string& recorder, StartedRanges& started, bool anew,
                      OpenLog& log) {
  if (!anew && !started.ended_.empty()) {
    inParts(0, started.ended_.size(), [&](std::size_t first, std::size_t last) {
      Saver entry = begin(OpenEntry::Ended, recorder);
      entry.put(static_cast<std::uint64_t>(last - first));
      for (; first < last; ++first) entry.put(started.ended_[first]);
      log.put(entry);
    });
  }
  Saver entry = begin(OpenEntry::Started, recorder);
  std::size_t count = 0;
  const auto put = [&](std::uint64_t number, const StartedRanges::Kept& kept) {
    entry.put(number);
    entry.put(kept);
    if (kept.details != 0) entry.put(started.details_[kept.details]);
    if (++count % kPart != 0) return;
    log.put(entry);
    entry = begin(OpenEntry::Started, recorder);
  };
  if (anew) {
    for (const auto& [number, kept] : started.kept_) put(number, kept);
  } else {
    for (const std::uint64_t number : started.fresh_) {
      if (const auto at = started.kept_.find(number); at != started.kept_.end())
        put(number, at->second);
    }
  }
  if (count % kPart != 0) log.put(entry);
}

void OpenStates::saved(StartedRanges& started) {
  for (const std::uint64_t number : started.fresh_) {
    if (const auto at = started.kept_.find(number); at != started.kept_.end()) at->second.saved = 1;
  }
  started.fresh_.clear();
  started.ended_.clear();
}

void OpenStates::loadRanges(Loader& loader, OpenStack& stack, OpenBudget& budget) {
  const auto skipped = loader.get<std::uint64_t>();
  const auto same = loader.get<std::uint64_t>();
  stack.skipped_ = 0;
  OpenRange gone;
  while (stack.kept_.size() > same) (void)stack.pop(gone, budget, OpenStack::kAll);
  loader.getAll([&] {
    auto kept = loader.get<KeptRange>();
    if (!isSound(kept) || stack.domain_ == OpenStack::kShared) return loader.fail();
    kept.startNs = Loader::bounded(kept.startNs);
    const RangeDetails details = kept.hasDetails ? getDetails(loader) : RangeDetails();
    if (!loader.ok()) return;
    stack.depth_ += kept.times();
    budget.takeAnyway(OpenStack::costOf(kept.hasDetails, kept.hasQueueData));
    stack.kept_.push_back(kept);
    if (kept.hasDetails) stack.details_.push_back(details);
  });
  stack.skipped_ = skipped;
}

void OpenStates::loadStarted(Loader& loader, StartedRanges& started, OpenBudget& budget) {
  while (!loader.atEnd()) {
    const auto number = loader.get<std::uint64_t>();
    const auto kept = loader.get<StartedRanges::Kept>();
    StartedRange range;
    if (kept.details != 0) static_cast<RangeDetails&>(range.range) = getDetails(loader);
    range.range.startNs = Loader::bounded(kept.startNs);
    range.range.name = kept.name;
    range.range.domain = kept.domain;
    range.thread = kept.thread;
    if (loader.ok()) (void)started.add(number, range, budget);
  }
}

void OpenStates::loadQueueData(Loader& loader, RangeStacks& stacks) {
  const auto same = loader.get<std::uint64_t>();
  stacks.queueData_.resize(std::min<std::size_t>(stacks.queueData_.size(), same));
  loader.getAll([&] {
    const auto data = loader.get<QueueData>();
    if (data.wait > 1) loader.fail();
    if (loader.ok()) stacks.queueData_.push_back(data);
  });
}

bool OpenStates::load(std::string_view entry, OpenBudget& budget) {
  Loader loader(entry);
  const auto kind = loader.get<OpenEntry>();
  const std::string name = loader.getText();
  if (!loader.ok()) return false;
  Recorder& recorder = recorders_[name];
  if (kind == OpenEntry::Started) {
    loadStarted(loader, recorder.started, budget);
  } else if (kind == OpenEntry::Ended) {
    loader.getAll([&] { (void)recorder.started.take(loader.get<std::uint64_t>(), budget); });
  } else if (kind == OpenEntry::Ranges || kind == OpenEntry::QueueData) {
    const auto index = loader.get<std::uint32_t>();
    RangeStacks& stacks = recorder.threads[{index, loader.get<std::uint32_t>()}];
    if (kind == OpenEntry::QueueData) loadQueueData(loader, stacks);
    if (kind == OpenEntry::Ranges) {
      const auto domain = loader.getUpTo<std::uint32_t>(OpenStack::kShared);
      loadRanges(loader, stacks.loaded(domain, budget), budget);
    }
  } else {
    return false;
  }
  return loader.ok() && loader.atEnd();
}

OpenStates::Recorder OpenStates::take(const std::string& recorder) {
  const auto at = recorders_.find(recorder);
  if (at == recorders_.end()) return {};
  Recorder taken = std::move(at->second);
  recorders_.erase(at);
  return taken;
}

}  // namespace lacuna::prof::recording
