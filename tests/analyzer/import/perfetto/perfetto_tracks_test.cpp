// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/perfetto/perfetto_tracks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "formats/proto_wire.h"
#include "lacuna/analyzer/store.h"
#include "support/proto_message.h"

namespace lacuna::analyzer {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Descriptor = test::ProtoMessage;

constexpr std::uint32_t kUuidField = 1, kNameField = 2, kProcessField = 3, kThreadField = 4,
                        kParentField = 5, kCounterField = 8;

Descriptor processOfPid(std::uint64_t pid) {
  return Descriptor().set(1, pid);
}
Descriptor threadOfTid(std::uint64_t pid, std::uint64_t tid) {
  return Descriptor().set(1, pid).set(2, tid);
}

class PerfettoTracksTest : public testing::Test {
 protected:
  bool read(const Descriptor& track) { return tracks_.readTrack(track.bytes); }
  [[nodiscard]] std::string_view text(prof::StringId id) const { return builder_.text(id); }
  prof::Thread::Columns& threads() { return builder_.columns<prof::Thread>(); }
  prof::Process::Columns& processes() { return builder_.columns<prof::Process>(); }
  std::uint32_t pidOf(prof::ProcessId id) { return processes().osPid[id.value - 1]; }

  StoreBuilder builder_;
  PerfettoTracks tracks_{builder_};
};

TEST_F(PerfettoTracksTest, ADescriptionIsOfItsNumberWhereverThatStands) {
  EXPECT_EQ(tracks_.find(5), nullptr);
  EXPECT_TRUE(read(Descriptor()
                       .set(kNameField, "shown")
                       .set(kParentField, 3)
                       .set(kThreadField, threadOfTid(7, 8))
                       .set(kUuidField, 5)));
  const auto* track = tracks_.find(5);
  ASSERT_NE(track, nullptr);
  EXPECT_EQ(text(track->name), "shown");
  EXPECT_EQ(track->parent, 3U);
  EXPECT_TRUE(track->isThread && !track->isProcess && !track->isCounter);
  EXPECT_EQ(track->pid, 7U);
  EXPECT_EQ(track->tid, 8U);
  EXPECT_EQ(tracks_.find(0), nullptr);
  EXPECT_TRUE(read(Descriptor().set(kUuidField, 5).set(10, "renamed")));
  EXPECT_EQ(text(tracks_.find(5)->name), "renamed");
  EXPECT_EQ(tracks_.find(5)->tid, 8U) << "a later description adds to the one before";
}

TEST_F(PerfettoTracksTest, WordsOfACommandLineAreJoined) {
  EXPECT_TRUE(read(
      Descriptor()
          .set(kUuidField, 5)
          .set(kProcessField,
               processOfPid(7).set(2, "python").set(2, "train.py").set(2, "").set(6, "trainer"))));
  EXPECT_EQ(text(tracks_.find(5)->commandLine), "python train.py ");
  EXPECT_EQ(text(tracks_.find(5)->name), "trainer");
  EXPECT_TRUE(tracks_.find(5)->isProcess);
}

TEST_F(PerfettoTracksTest, CountersHaveUnitsByNumberOrName) {
  struct Case {
    Descriptor counter;
    std::string_view name, unit;
  };
  const Case cases[] = {{Descriptor(), "", ""},
                        {Descriptor().set(3, 1), "", "ns"},
                        {Descriptor().set(3, 2), "", "count"},
                        {Descriptor().set(3, 3), "", "bytes"},
                        {Descriptor().set(3, 4), "", ""},
                        {Descriptor().set(6, "watts"), "", "watts"},
                        {Descriptor().set(3, 3).set(6, "watts"), "", "watts"},
                        {Descriptor().set(1, 1), "thread time", "ns"},
                        {Descriptor().set(1, 2), "thread instruction count", "count"},
                        {Descriptor().set(1, 3), "", ""},
                        {Descriptor().set(6, "own").set(1, 1), "thread time", "own"}};
  std::uint64_t uuid = 0;
  for (const Case& one : cases) {
    EXPECT_TRUE(read(Descriptor().set(kUuidField, ++uuid).set(kCounterField, one.counter)));
    EXPECT_TRUE(tracks_.find(uuid)->isCounter);
    EXPECT_EQ(text(tracks_.find(uuid)->name), one.name) << uuid;
    EXPECT_EQ(text(tracks_.find(uuid)->unit), one.unit) << uuid;
  }
  EXPECT_TRUE(read(Descriptor()
                       .set(kUuidField, 50)
                       .set(kNameField, "mine")
                       .set(kCounterField, Descriptor().set(1, 1))));
  EXPECT_EQ(text(tracks_.find(50)->name), "mine");
}

TEST_F(PerfettoTracksTest, CountersMayCountDifferencesAndMultiples) {
  EXPECT_TRUE(read(
      Descriptor().set(kUuidField, 1).set(kCounterField, Descriptor().set(4, 1024).set(5, 1))));
  EXPECT_EQ(tracks_.find(1)->multiplier, 1024);
  EXPECT_TRUE(tracks_.find(1)->isIncremental);
  EXPECT_TRUE(
      read(Descriptor().set(kUuidField, 2).set(kCounterField, Descriptor().set(4, 0).set(5, 0))));
  EXPECT_EQ(tracks_.find(2)->multiplier, 1) << "0 would make all values 0";
  EXPECT_FALSE(tracks_.find(2)->isIncremental);
}

TEST_F(PerfettoTracksTest, DamagedDescriptionsAreReported) {
  Descriptor cut = Descriptor().set(kUuidField, 5).set(kNameField, "name");
  cut.bytes.pop_back();
  EXPECT_FALSE(read(cut));
  EXPECT_EQ(tracks_.find(5), nullptr);
  for (const std::uint32_t part : {kProcessField, kThreadField, kCounterField}) {
    EXPECT_FALSE(read(Descriptor().set(kUuidField, part).set(part, "\x08").set(kParentField, 9)))
        << part;
    EXPECT_EQ(tracks_.find(part)->parent, 9U) << "the rest of it counts";
  }
  for (const std::uint32_t list : {1, 2})
    EXPECT_FALSE(tracks_.readProcessTree(Descriptor().set(list, "\x08").bytes));
}

TEST_F(PerfettoTracksTest, TracksOfOneThreadAreOneThreadAndOthersAreThreadsOfTheirOwn) {
  read(Descriptor().set(kUuidField, 1).set(kProcessField, processOfPid(7)));
  read(Descriptor().set(kUuidField, 2).set(kThreadField, threadOfTid(7, 8)));
  read(Descriptor().set(kUuidField, 3).set(kThreadField, threadOfTid(7, 8)));
  read(Descriptor().set(kUuidField, 4).set(kThreadField, threadOfTid(9, 8)));
  read(Descriptor().set(kUuidField, 5).set(kParentField, 2).set(kNameField, "async"));
  read(Descriptor().set(kUuidField, 6).set(kParentField, 1));
  const auto thread = tracks_.threadOf(2);
  EXPECT_EQ(tracks_.threadOf(2), thread);
  EXPECT_EQ(tracks_.threadOf(3), thread);
  EXPECT_NE(tracks_.threadOf(4), thread);
  EXPECT_NE(tracks_.threadOf(5), thread) << "its slices need not nest in those of the thread";
  EXPECT_NE(tracks_.threadOf(6), tracks_.threadOf(5));
  EXPECT_NE(tracks_.threadOf(1), tracks_.threadOf(6)) << "a process has a line of its own";
  ASSERT_EQ(threads().id.size(), 5U);
  EXPECT_THAT(threads().osTid, ElementsAre(8, 8, 0, 0, 0));
  EXPECT_EQ(text(threads().name[2]), "async");
  EXPECT_EQ(text(threads().name[3]), "track");
  EXPECT_EQ(processes().id.size(), 2U);
  for (const std::size_t i : {0, 2, 3, 4}) EXPECT_EQ(pidOf(threads().process[i]), 7U) << i;
  EXPECT_EQ(pidOf(threads().process[1]), 9U);
}

TEST_F(PerfettoTracksTest, AProcessIsFoundUpTo64ParentsUpAndCirclesEnd) {
  read(Descriptor().set(kUuidField, 1000).set(kProcessField, processOfPid(7)));
  for (std::uint64_t uuid = 1; uuid <= 70; ++uuid) {
    read(Descriptor().set(kUuidField, 1000 + uuid).set(kParentField, 1000 + uuid - 1));
  }
  EXPECT_EQ(pidOf(tracks_.processOf(1001)), 7U);
  EXPECT_EQ(pidOf(tracks_.processOf(1064)), 7U);
  EXPECT_EQ(pidOf(tracks_.processOf(1065)), 0U);
  read(Descriptor().set(kUuidField, 1).set(kParentField, 2));
  read(Descriptor().set(kUuidField, 2).set(kParentField, 1));
  EXPECT_EQ(pidOf(tracks_.processOf(1)), 0U);
  EXPECT_EQ(pidOf(tracks_.processOf(12345)), 0U) << "a track that nothing describes";
}

TEST_F(PerfettoTracksTest, AnEventWrittenForAnotherThreadHasThatThreadsTrack) {
  read(Descriptor().set(kUuidField, 5).set(kThreadField, threadOfTid(7, 8)));
  const auto own = tracks_.trackOfOther(5, std::nullopt, std::nullopt);
  const auto other = tracks_.trackOfOther(5, std::nullopt, 9);
  EXPECT_EQ(tracks_.trackOfOther(99, 7, 9), other);
  EXPECT_NE(tracks_.trackOfOther(99, std::nullopt, 9), other) << "no process is known";
  EXPECT_EQ(tracks_.threadOf(own), tracks_.threadOf(5)) << "the same thread on another track";
  EXPECT_EQ(threads().osTid[tracks_.threadOf(other).value - 1], 9U);
  EXPECT_EQ(pidOf(tracks_.processOf(other)), 7U);
}

TEST_F(PerfettoTracksTest, PlacesAreNamedByTheirTracksAndElseByTheListOfProcesses) {
  const auto listed = [](std::uint64_t pid, std::string_view program) {
    return Descriptor().set(1, pid).set(3, program).set(3, "-x");
  };
  const auto listedThread = [](std::uint64_t tid, std::uint64_t pid, std::string_view name) {
    return Descriptor().set(1, tid).set(2, name).set(3, pid);
  };
  EXPECT_TRUE(tracks_.readProcessTree(Descriptor()
                                          .set(1, listed(7, "/bin/seven"))
                                          .set(1, listed(8, "/bin/eight"))
                                          .set(1, listed(9, "/bin/quiet"))
                                          .set(2, listedThread(11, 7, "listed"))
                                          .set(2, listedThread(11, 8, "of another process"))
                                          .set(2, listedThread(12, 7, "not shown"))
                                          .bytes));
  read(Descriptor().set(kUuidField, 1).set(kThreadField, threadOfTid(7, 11)));
  read(Descriptor().set(kUuidField, 2).set(kThreadField, threadOfTid(7, 12)));
  read(Descriptor().set(kUuidField, 3).set(kThreadField, threadOfTid(8, 13)));
  for (const std::uint64_t uuid : {1, 2, 3}) tracks_.threadOf(uuid);
  read(Descriptor().set(kUuidField, 2).set(kThreadField, threadOfTid(7, 12).set(5, "own")));
  read(Descriptor().set(kUuidField, 4).set(kProcessField, processOfPid(8).set(6, "named")));
  read(Descriptor()
           .set(kUuidField, 5)
           .set(kProcessField, processOfPid(99).set(6, "without events")));
  tracks_.namePlaces();
  ASSERT_EQ(threads().id.size(), 3U);
  EXPECT_EQ(text(threads().name[0]), "listed");
  EXPECT_EQ(text(threads().name[1]), "own");
  EXPECT_EQ(text(threads().name[2]), "");
  ASSERT_EQ(processes().id.size(), 2U);
  EXPECT_EQ(text(processes().name[0]), "/bin/seven");
  EXPECT_EQ(text(processes().commandLine[0]), "/bin/seven -x");
  EXPECT_EQ(text(processes().name[1]), "named");
  EXPECT_EQ(text(processes().commandLine[1]), "/bin/eight -x");
}

}  // namespace
}  // namespace lacuna::analyzer
