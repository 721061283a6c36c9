// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <fstream>
#include <numeric>
#include <set>

#include "lacuna/runtime/data.h"
#include "support/message_of.h"

namespace lacuna::rt {
namespace {

using test::messageOf;
using testing::ElementsAre;
using testing::HasSubstr;

WorkerContext anyContext() {
  return WorkerContext(0, -1, 0, 1, nullptr);
}

TEST(TensorDataset, GivesRowsOfEachTensor) {
  const TensorDataset data(
      {fromVector<float>({1, 2, 3, 4, 5, 6}, {3, 2}), fromVector<std::int64_t>({7, 8, 9}, {3})});
  WorkerContext context = anyContext();
  const Example example = data.get(1, context);
  EXPECT_THAT(example[0].toVector<float>(), ElementsAre(3, 4));
  EXPECT_THAT(example[1].toVector<std::int64_t>(), ElementsAre(8));
  EXPECT_EQ(example[1].rank(), 0);
}

TEST(TensorDataset, GivesBatchesOfStridedTensorsInTheAskedOrder) {
  const TensorDataset data({fromVector<float>({1, 2, 3, 4, 5, 6}, {2, 3}).t()});
  WorkerContext context = anyContext();
  const std::vector<std::size_t> indices{2, 0};
  EXPECT_THAT((*data.getBatch(indices, context))[0].toVector<float>(), ElementsAre(3, 6, 1, 4));
}

TEST(TensorDataset, RefusesTensorsOfDifferentLength) {
  EXPECT_THAT(messageOf([] { TensorDataset({zeros({3, 2}), zeros({4})}); }), HasSubstr("3 and 4"));
}

TEST(TensorDataset, NamesAnExampleThatItDoesNotHave) {
  const TensorDataset data({zeros({3, 2})});
  WorkerContext context = anyContext();
  EXPECT_THAT(messageOf([&] { (void)data.get(3, context); }), HasSubstr("no example 3 among 3"));
  const std::vector<std::size_t> indices{0, static_cast<std::size_t>(-1)};
  EXPECT_THAT(messageOf([&] { (void)data.getBatch(indices, context); }),
              HasSubstr("no example 18446744073709551615"));
}

TEST(TensorDataset, RefusesTensorsWithoutElements) {
  EXPECT_THAT(messageOf([] {
                TensorDataset({zeros({3, 2}, {DType::F32, kMeta})});
              }),
              HasSubstr("meta"));
}

TEST(StackExamples, RefusesTensorsWithoutElements) {
  EXPECT_THAT(messageOf([] {
                (void)stackExamples({{zeros({2}, {DType::F32, kMeta})}});
              }),
              HasSubstr("meta"));
}

TEST(StackExamples, NamesTheExampleThatDoesNotFit) {
  const std::string message = messageOf([] {
    (void)stackExamples({{emptyHost({2}, DType::F32)}, {emptyHost({3}, DType::F32)}});
  });
  EXPECT_THAT(message, HasSubstr("f32[2]"));
  EXPECT_THAT(message, HasSubstr("f32[3] in example 1"));
}

TEST(StackExamples, NamesTheExampleThatHasMoreOrFewerFields) {
  const Example none;
  const Example one{emptyHost({2}, DType::F32)};
  for (const bool fewer : {false, true}) {
    const std::vector<Example> examples{fewer ? one : none, fewer ? one : none, fewer ? none : one};
    EXPECT_THAT(messageOf([&] { (void)stackExamples(examples); }),
                HasSubstr("collate: example 2 has "))
        << fewer;
  }
}

class RecordFile : public testing::Test {
 protected:
  void SetUp() override { path_ = testing::TempDir() + "records_" + std::to_string(::getpid()); }
  void TearDown() override { std::remove(path_.c_str()); }
  void write(const std::string& bytes) { std::ofstream(path_, std::ios::binary) << bytes; }
  std::string path_;
};

TEST_F(RecordFile, SplitsTheFileIntoFields) {
  write(std::string("HEAD") + std::string("\x01\x02\x03\x04\x05\x06", 6));
  const RecordFileDataset data(path_, {{{2}, DType::U8}, {{}, DType::U8}}, 4);
  ASSERT_EQ(data.size(), 2u);
  WorkerContext context = anyContext();
  const Example example = data.get(1, context);
  EXPECT_THAT(example[0].toVector<std::uint8_t>(), ElementsAre(4, 5));
  EXPECT_THAT(example[1].toVector<std::uint8_t>(), ElementsAre(6));
}

TEST_F(RecordFile, NamesARecordThatItDoesNotHold) {
  write("1234");
  const RecordFileDataset data(path_, {{{2}, DType::U8}});
  WorkerContext context = anyContext();
  EXPECT_THAT(messageOf([&] { (void)data.get(2, context); }),
              HasSubstr("no record 2 among the 2 of " + path_));
}

TEST_F(RecordFile, RefusesAFileThatEndsWithinARecord) {
  write("12345");
  EXPECT_THAT(messageOf([&] {
                RecordFileDataset(path_, {{{2}, DType::U8}});
              }),
              HasSubstr("has 5 bytes"));
}

TEST_F(RecordFile, NamesTheMissingFile) {
  EXPECT_THAT(messageOf([&] { RecordFileDataset(path_, {{{2}, DType::U8}}); }), HasSubstr(path_));
}

TEST_F(RecordFile, RefusesPipesAndFoldersAtOnce) {
  const auto refusal = [](const std::string& path) {
    return messageOf([&] { RecordFileDataset(path, {{{2}, DType::U8}}); });
  };
  EXPECT_THAT(refusal(testing::TempDir()), HasSubstr("is not a regular file"));
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THAT(refusal(path_), HasSubstr(path_ + " is not a regular file"));
}

TEST_F(RecordFile, ReportsAFileThatShrinksLater) {
  write("1234");
  const RecordFileDataset data(path_, {{{2}, DType::U8}});
  write("12");
  WorkerContext context = anyContext();
  EXPECT_THAT(messageOf([&] { (void)data.get(1, context); }), HasSubstr("cannot read record 1"));
}

TEST(ShuffleSampler, IsAPermutationThatChangesWithTheEpochAndRepeatsWithTheSeed) {
  const ShuffleSampler sampler(5);
  const auto order = sampler.order(100, 0);
  EXPECT_EQ(std::set<std::size_t>(order.begin(), order.end()).size(), 100u);
  EXPECT_NE(order, sampler.order(100, 1));
  EXPECT_EQ(order, ShuffleSampler(5).order(100, 0));
  EXPECT_NE(order, ShuffleSampler(6).order(100, 0));
}

TEST(DistributedSampler, GivesEachRankAnEqualPartThatTogetherCoversAll) {
  std::set<std::size_t> seen;
  for (std::size_t rank = 0; rank < 3; ++rank) {
    const auto mine = DistributedSampler(rank, 3, 1).order(10, 0);
    EXPECT_EQ(mine.size(), 4u);
    seen.insert(mine.begin(), mine.end());
  }
  EXPECT_EQ(seen.size(), 10u);
  EXPECT_TRUE(DistributedSampler(0, 3, 1).order(0, 0).empty());
}

TEST(DistributedSampler, RefusesARankOutsideTheJob) {
  EXPECT_THAT(messageOf([] { DistributedSampler(3, 3, 1); }), HasSubstr("rank 3"));
}

TEST(SampleRandom, RefusesToPickFromNothing) {
  SampleRandom random(1);
  EXPECT_THAT(messageOf([&] { (void)random.below(0); }),
              HasSubstr("SampleRandom: no number is below 0"));
}

TEST(SampleRandom, IsUniformEnoughToPickEveryValue) {
  SampleRandom random(1);
  std::vector<int> counts(10);
  for (int i = 0; i < 10000; ++i) ++counts[random.below(10)];
  for (const int count : counts) EXPECT_NEAR(count, 1000, 200);
}

}  // namespace
}  // namespace lacuna::rt
