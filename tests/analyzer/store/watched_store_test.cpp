// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "store/watched_store.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lacuna/analyzer/store.h"
#include "store/backend.h"
#include "store/damage_watch.h"

namespace lacuna::analyzer {
namespace {

using prof::Range, prof::TimeNs;

/// Two blocks and a half of ranges.
std::shared_ptr<const Store> blocksOfRanges() {
  StoreBuilder trace;
  auto& ranges = trace.columns<Range>();
  for (std::uint64_t i = 0; i < 2 * kScanRows + kScanRows / 2; ++i)
    ranges.push({.startNs = static_cast<TimeNs>(i), .durNs = 1});
  return trace.build();
}

TEST(WatchedStore, EachBlockIsAnnouncedByItsPlaceInTheTable) {
  std::vector<double> shares;
  const auto store = watchScans(blocksOfRanges(), [&](double share) {
    shares.push_back(share);
    return true;
  });
  std::uint64_t rows = 0;
  ASSERT_TRUE(
      store->scan<&Range::startNs>({}, [&](std::uint64_t, auto starts) { rows += starts.size(); }));
  EXPECT_EQ(rows, store->rows<Range>());
  EXPECT_EQ(shares, (std::vector<double>{0, 0.4, 0.8}));
  ASSERT_TRUE(store->scan<&Range::startNs>({static_cast<TimeNs>(2 * kScanRows + 5), INT64_MAX},
                                           [](std::uint64_t, auto) {}));
  EXPECT_EQ(shares.back(), 0.8) << "a place in the table, not in the window";
  EXPECT_EQ(shares.size(), 4U);
  ASSERT_TRUE(store->scan<&prof::Mark::timeNs>({}, [](std::uint64_t, auto) {}));
  EXPECT_EQ(shares.size(), 4U) << "a table without rows";
}

TEST(WatchedStore, AScanFailsOnceItIsNotWantedAndHandsOutNoMore) {
  const auto inner = blocksOfRanges();
  for (const double last : {-1.0, 0.0, 0.4, 0.8}) {
    const auto store = watchScans(inner, [&](double share) { return share <= last; });
    int blocks = 0;
    const auto status = store->scan<&Range::startNs>({}, [&](std::uint64_t, auto) { ++blocks; });
    EXPECT_EQ(blocks, last < 0 ? 0 : 1 + static_cast<int>(last / 0.4)) << last;
    EXPECT_EQ(status.ok(), last == 0.8) << last;
    if (!status) {
      EXPECT_EQ(status.error().message, "cancelled");
    }
  }
}

TEST(WatchedStore, AVisitorThatHasSeenEnoughIsNoFailure) {
  const auto store = watchScans(blocksOfRanges(), [](double) { return true; });
  int blocks = 0;
  EXPECT_TRUE(store->scan<&Range::startNs>({}, [&](std::uint64_t, auto) { return ++blocks < 2; }));
  EXPECT_EQ(blocks, 2);
}

TEST(WatchedStore, AllElseIsTheStoresAndLinksAreItsOwn) {
  StoreBuilder trace;
  trace.setPath("run.json");
  trace.addWarning("a line is missing");
  trace.append(Range{.startNs = 7, .durNs = 3, .name = trace.intern("step")});
  const auto inner = trace.build();
  const auto store = watchScans(inner, [](double) { return false; });
  EXPECT_EQ(store->rows<Range>(), 1U);
  EXPECT_EQ(store->column<&Range::startNs>().data(), inner->column<&Range::startNs>().data());
  EXPECT_EQ(store->row<Range>(0), inner->row<Range>(0));
  EXPECT_EQ(store->find("step"), inner->find("step"));
  EXPECT_EQ(store->text(store->find("step")), "step");
  EXPECT_EQ(store->stringCount(), 2U);
  EXPECT_EQ(store->span().endNs, 10);
  EXPECT_EQ(store->path(), "run.json");
  EXPECT_EQ(store->warnings(), std::vector<std::string>{"a line is missing"});
  EXPECT_NE(&store->links(), &inner->links());
}

/// A backend without rows, whose reads are as damaged as a test wants.
class DamagedBackend final : public Store::Backend {
 public:
  [[nodiscard]] std::uint64_t rows(std::size_t) const override { return 0; }
  [[nodiscard]] ColumnView column(std::size_t, std::size_t) const override { return {}; }
  prof::Status scan(std::size_t, std::span<const std::size_t>, prof::TimeWindow,
                    const std::function<bool(const RowBlock&)>&) const override {
    return {};
  }
  void readRow(std::size_t, std::uint64_t, std::span<const std::size_t>,
               std::span<std::byte* const>) const override {}
  [[nodiscard]] std::string_view text(prof::StringId) const override { return {}; }
  [[nodiscard]] prof::StringId find(std::string_view) const override { return {}; }
  [[nodiscard]] std::uint32_t stringCount() const override { return 1; }
  [[nodiscard]] prof::TimeWindow span() const override { return {0, 0}; }
  [[nodiscard]] std::vector<std::string> warnings() const override { return warnings_; }
  [[nodiscard]] std::uint64_t damagedReads() const override { return reads_; }
  [[nodiscard]] const std::filesystem::path& path() const override { return path_; }

  void read(std::vector<std::string> newWarnings) {
    ++reads_;
    warnings_.insert(warnings_.end(), newWarnings.begin(), newWarnings.end());
  }

 private:
  std::uint64_t reads_ = 0;
  std::vector<std::string> warnings_{"byte 3: known before"};
  std::filesystem::path path_ = "folder/run.lcn";
};

TEST(DamageWatch, NamesWhatIsFoundDamagedWhileItWatches) {
  const auto error = [](const std::string& what) {
    return "folder/run.lcn: cannot be read in full: " + what +
           "; lacuna recover makes a whole file of what is readable";
  };
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"byte 5: a"}, "byte 5: a"},
      {{"a", "b", "c"}, "a; b; c"},
      {{"a", "b", "c", "d", "e"}, "a; b; c; and 2 more"},
      {{}, "parts of it that were found damaged before"},
      {{"byte 3: known before"}, "parts of it that were found damaged before"},
  };
  for (const auto& [warnings, what] : cases) {
    const auto backend = std::make_shared<DamagedBackend>();
    backend->read({"byte 4: before the watch"});
    const Store store(backend);
    const DamageWatch watch(store);
    EXPECT_TRUE(watch.status()) << "nothing was read since";
    backend->read(warnings);
    ASSERT_FALSE(watch.status());
    EXPECT_EQ(watch.status().error().message, error(what));
    EXPECT_TRUE(DamageWatch(store).status()) << "another watch begins anew";
  }
}

TEST(DamageWatch, AWarningAloneIsNoDamagedRead) {
  StoreBuilder trace;
  const auto store = trace.build();
  const DamageWatch watch(*store);
  EXPECT_TRUE(watch.status());
}

}  // namespace
}  // namespace lacuna::analyzer
