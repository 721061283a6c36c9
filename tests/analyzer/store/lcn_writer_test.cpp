// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "store/lcn_writer.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lacuna/analyzer/store.h"
#include "store/backend.h"
#include "support/random_store.h"
#include "support/temp_dir.h"

namespace lacuna::analyzer {
namespace {

using prof::Arg, prof::ArgSet, prof::ArgSetId, prof::Range;

class LcnWriterTest : public testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path path() const { return folder_ / "trace.lcn"; }
  std::shared_ptr<const Store> reopened(const Store& store, std::uint32_t blockRows = 1 << 18) {
    LcnWriteOptions options;
    options.blockRows = blockRows;
    options.zstdLevel = 1;
    EXPECT_TRUE(writeLcn(store, path(), options));
    return *Store::open(path());
  }
  const test::TempDir folder_;
};

/// The values of a column as text; ids of texts as what they stand for.
std::vector<std::string> valuesOf(const Store& store, std::size_t table, std::size_t column) {
  const prof::ColumnSpec& spec = prof::allTables()[table].columns[column];
  const ColumnView view = store.column(table, column);
  std::vector<std::string> out;
  for (std::uint64_t row = 0; row < view.rows; ++row) {
    const std::size_t width = widthOf(view.type);
    std::string value(reinterpret_cast<const char*>(view.data) + row * width, width);
    if (spec.refers == prof::Refers::String) {
      prof::StringId id;
      std::memcpy(&id, value.data(), sizeof id);
      value = store.text(id);
    }
    out.push_back(std::move(value));
  }
  return out;
}

TEST_F(LcnWriterTest, EveryColumnComesBackFromBlocksOfAnySize) {
  const auto store = test::randomStore(5, 200);
  for (const std::uint32_t blockRows : {3U, 64U, 1U << 18}) {
    const auto again = reopened(*store, blockRows);
    EXPECT_TRUE(again->warnings().empty());
    for (std::size_t table = 0; table < prof::allTables().size(); ++table) {
      const prof::TableSpec& spec = prof::allTables()[table];
      if (spec.id == ArgSet::kTable || spec.id == Arg::kTable)
        continue;  // renumbered, like references to them
      ASSERT_EQ(again->rows(table), store->rows(table)) << spec.name;
      for (std::size_t column = 0; column < spec.columnCount; ++column) {
        if (spec.columns[column].refers == prof::Refers::ArgSet) continue;
        ASSERT_EQ(valuesOf(*again, table, column), valuesOf(*store, table, column))
            << spec.name << "." << spec.columns[column].name << " in blocks of " << blockRows;
      }
    }
    EXPECT_EQ(again->span().startNs, store->span().startNs);
    EXPECT_EQ(again->span().endNs, store->span().endNs);
  }
}

TEST_F(LcnWriterTest, AStoreWithoutRowsIsATraceWithoutRows) {
  const auto again = reopened(*StoreBuilder().build());
  for (std::size_t table = 0; table < prof::allTables().size(); ++table)
    EXPECT_EQ(again->rows(table), 0U);
  EXPECT_EQ(again->stringCount(), 1U);
  EXPECT_TRUE(again->warnings().empty());
}

TEST_F(LcnWriterTest, TextsThatNoRowMentionsAreLeftOut) {
  StoreBuilder trace;
  trace.intern("mentioned by none");
  trace.append(Range{.startNs = 1, .name = trace.intern("kept")});
  trace.append(Range{.startNs = 2, .name = prof::StringId(77)});
  const auto again = reopened(*trace.build());
  EXPECT_EQ(again->find("mentioned by none"), prof::StringId());
  EXPECT_EQ(again->text(again->row<Range>(0).name), "kept");
  EXPECT_EQ(again->row<Range>(1).name, prof::StringId()) << "an id that the trace does not have";
  EXPECT_EQ(again->stringCount(), 2U);
}

TEST_F(LcnWriterTest, SetsAreNumberedInTheOrderOfTheEventsThatReferToThem) {
  StoreBuilder trace;
  const prof::StringId key = trace.intern("k");
  for (const std::uint32_t id : {1U, 2U, 3U, 4U}) {
    trace.append(ArgSet{ArgSetId(id), trace.intern("+shape " + std::to_string(id))});
    trace.append(Arg{ArgSetId(id), prof::ArgScope::Argument, key, prof::ArgType::I64, 10 * id});
  }
  trace.append(Range{.startNs = 1, .args = ArgSetId(4)});
  trace.append(Range{.startNs = 2, .args = ArgSetId(2)});
  trace.append(Range{.startNs = 3, .args = ArgSetId(5)});  // of no set
  trace.append(Range{.startNs = 4, .args = ArgSetId(4)});
  trace.append(prof::Kernel{.startNs = 0, .args = ArgSetId(3)});  // in a table after that of ranges
  const auto again = reopened(*trace.build());
  std::vector<std::uint32_t> ids;
  for (const ArgSetId id : again->column<&Range::args>()) ids.push_back(id.value);
  EXPECT_EQ(ids, (std::vector<std::uint32_t>{1, 2, 0, 1}));
  EXPECT_EQ(again->row<prof::Kernel>(0).args, ArgSetId(3));
  ASSERT_EQ(again->rows<ArgSet>(), 3U) << "set 1 is of no event";
  ASSERT_EQ(again->rows<Arg>(), 3U);
  const Args args(*again);
  for (const auto& [set, was] : {std::pair(1U, 4), {2U, 2}, {3U, 3}}) {
    EXPECT_EQ(args.integer(ArgSetId(set), "k"), 10 * was) << set;
    EXPECT_EQ(again->text(args.shape(ArgSetId(set))), "+shape " + std::to_string(was)) << set;
  }
}

TEST_F(LcnWriterTest, ProgressRisesAndMayCallItOff) {
  StoreBuilder trace;
  for (int i = 0; i < 10; ++i) trace.append(Range{.startNs = i});
  for (int i = 0; i < 30; ++i) trace.append(prof::Mark{.timeNs = i});
  const auto store = trace.build();
  std::vector<double> shares;
  LcnWriteOptions options;
  options.progress = [&](double share) {
    shares.push_back(share);
    return true;
  };
  ASSERT_TRUE(writeLcn(*store, path(), options));
  EXPECT_EQ(shares, (std::vector<double>{0.25, 1.0}));  // one question for each block of rows
  for (std::size_t answers = 0; answers < shares.size(); ++answers) {
    std::size_t asked = 0;
    options.progress = [&](double) { return asked++ < answers; };
    const auto status = writeLcn(*store, path(), options);
    ASSERT_FALSE(status) << answers;
    EXPECT_EQ(status.error().message, "the conversion was cancelled");
    EXPECT_EQ(asked, answers + 1);
    EXPECT_FALSE(std::filesystem::exists(path())) << "half a file is none";
  }
}

TEST_F(LcnWriterTest, AFolderThatIsNotThereIsAnErrorThatNamesTheFile) {
  const auto target = folder_ / "missing/trace.lcn";
  const auto status = writeLcn(*StoreBuilder().build(), target);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find(target.string()), std::string::npos)
      << status.error().message;
}

}  // namespace
}  // namespace lacuna::analyzer
