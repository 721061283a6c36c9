// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

namespace lacuna::cli::tune {
namespace {

const collector::Setting* findKept(std::span<const collector::Setting> kept,
                                   std::string_view name) {
  const auto found = std::ranges::find(kept, name, &collector::Setting::name);
  return found == kept.end() ? nullptr : &*found;
}

std::uint32_t numberOf(const std::string& text) {
  std::uint32_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

class Candidates {
 public:
  Candidates(const Situation& situation, std::span<const collector::Setting> kept,
             std::span<const std::string> names)
      : situation_(situation), kept_(kept), names_(names) {}

  std::vector<Candidate> all() {
    addLoader();
    if (situation_.debug) add("debug", "off");
    add("optimizer.fused", "on");
    add("zero_grad", "none");
    add("amp", "on");
    add("fuse", "on");
    if (situation_.onGpu) {
      for (const std::string_view name : {"static_graph", "autotune"}) add(name, "on");
      add("allocator", "cached");
    }
    add("threads", fmt::format("{}", situation_.cores), analyzer::FindingId::TooManyThreads);
    addUnpriced();
    return std::move(all_);
  }

 private:
  void add(std::string_view name, std::string_view value,
           std::optional<analyzer::FindingId> finding = {}) {
    const bool isWanted = names_.empty() || std::ranges::find(names_, name) != names_.end();
    const collector::Setting setting{std::string(name), std::string(value)};
    const collector::Setting* kept = findKept(kept_, name);
    if (isWanted && (kept == nullptr || *kept != setting))
      all_.push_back({setting, finding, !finding});
  }

  /// Settings without a price are tried only where --knobs names them.
  void addUnpriced() {
    const std::size_t priced = all_.size();
    if (std::ranges::find(names_, "threads") != names_.end() && situation_.cores > 1)
      add("threads", fmt::format("{}", situation_.cores / 2));
    if (!names_.empty()) {
      add("channels_last", "on");
      add("matmul", "high");
      add("gc", "freeze");
    }
    for (std::size_t i = priced; i < all_.size(); ++i) all_[i].replayed = false;
  }

  void addLoader() {
    if (!situation_.workers) return;
    const collector::Setting* kept = findKept(kept_, "loader.workers");
    const std::uint32_t workers = kept != nullptr ? numberOf(kept->value) : *situation_.workers;
    std::set<std::uint32_t> counts{situation_.cores};
    for (std::uint32_t count = 1; count < situation_.cores; count *= 2) counts.insert(count);
    for (const std::uint32_t count : counts) {
      if (count != workers) add("loader.workers", fmt::format("{}", count));
    }
    if (situation_.onGpu && !situation_.pinned) add("loader.pin", "on");
    if (workers == 0) return;
    constexpr std::uint32_t kAhead[]{4, 8};
    for (const std::uint32_t ahead : kAhead) {
      if (ahead != situation_.prefetch) add("loader.prefetch", fmt::format("{}", ahead));
    }
    add("loader.persistent", "on", analyzer::FindingId::LoaderRestarts);
  }

  const Situation& situation_;
  std::span<const collector::Setting> kept_;
  std::span<const std::string> names_;
  std::vector<Candidate> all_;
};

}  // namespace

std::vector<Candidate> candidates(const Situation& situation,
                                  std::span<const collector::Setting> kept,
                                  std::span<const std::string> names) {
  return Candidates(situation, kept, names).all();
}

}  // namespace lacuna::cli::tune
