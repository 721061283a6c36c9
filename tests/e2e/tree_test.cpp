// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "e2e/run_fixture.h"

namespace lacuna {
namespace {

using prof::Reader;

/// A shell that starts a launcher, which starts two ranks with sessions of their own, and each rank
/// forks two loader workers: seven processes.
class TreeTest : public RunTest {
 protected:
  static constexpr int kRanks = 2, kWorkers = 2, kBatches = 4;  // of rank_program

  int launch(const std::string& sources, const std::string& failing = "") {
    std::ofstream(folder_ / "job.sh") << program("launcher_program") << " 2 "
                                      << program("rank_program") << ' ' << failing << "\nexit $?\n";
    return lacuna("-o out.lcn --trace " + sources + " -- sh job.sh >printed.txt");
  }

  struct Member {
    std::string name, parent;
    std::int32_t rank = -1;
    friend bool operator==(const Member&, const Member&) = default;
    friend void PrintTo(const Member& member, std::ostream* out) {
      *out << member.name << " of \"" << member.parent << "\", rank " << member.rank;
    }
  };
  static Member memberOf(const Reader& reader, prof::ProcessId id) {
    const auto rows = *reader.table<prof::Process>();
    const prof::Process row = rows.row(id.value - 1);
    EXPECT_EQ(row.id, id);
    return {std::string(reader.text(row.name)),
            row.parent ? std::string(reader.text(rows.name[row.parent.value - 1])) : std::string(),
            row.rank};
  }
  static std::vector<Member> membersOf(const Reader& reader) {
    std::vector<Member> members;
    const auto ids = *reader.column<&prof::Process::id>();
    for (const prof::ProcessId id : ids) members.push_back(memberOf(reader, id));
    return members;
  }
  /// The tree that every reader should find.
  static std::vector<Member> fullTree() {
    const std::string launcher = "launcher_progra";  // the kernel keeps 15 characters
    std::vector<Member> tree{{"sh", ""}, {launcher, "sh"}};
    for (int rank = 0; rank < kRanks; ++rank) {
      tree.push_back({"rank_program", launcher, rank});
      for (int worker = 0; worker < kWorkers; ++worker) {
        tree.push_back({"loader " + std::to_string(worker), "rank_program", rank});
      }
    }
    return tree;
  }

  using Counts = std::map<std::tuple<std::int32_t, std::string, std::string>, int>;
  /// Number of ranges by rank, process and name.
  static Counts rangesByProcess(const Reader& reader) {
    std::map<prof::ThreadId, Member> members;
    const auto threads = *reader.table<prof::Thread>();
    for (std::size_t i = 0; i < threads.id.size(); ++i) {
      members[threads.id[i]] = memberOf(reader, threads.process[i]);
    }
    Counts counts;
    const auto ranges = *reader.table<prof::Range>();
    for (std::size_t i = 0; i < ranges.name.size(); ++i) {
      const Member& member = members[ranges.thread[i]];
      ++counts[{member.rank, member.name, std::string(reader.text(ranges.name[i]))}];
    }
    return counts;
  }
  static Counts allRanges() {
    Counts counts;
    for (int rank = 0; rank < kRanks; ++rank) {
      counts[{rank, "rank_program", "wait"}] = counts[{rank, "rank_program", "step"}] =
          kWorkers * kBatches;
      counts[{rank, "rank_program", "all-reduce"}] = 1;
      for (int worker = 0; worker < kWorkers; ++worker) {
        counts[{rank, "loader " + std::to_string(worker), "fetch"}] = kBatches;
      }
    }
    return counts;
  }
};

TEST_F(TreeTest, ALaunchersRanksAndTheirLoaderWorkersAreInOneTrace) {
  for (const char* sources : {"nvtx", "nvtx,samples,counters"}) {
    ASSERT_EQ(launch(sources), 0) << errorText();
    EXPECT_EQ(textOf("printed.txt"), "[rank0]: trained\n[rank1]: trained\n");
    const Reader reader = trace();
    EXPECT_THAT(membersOf(reader), testing::UnorderedElementsAreArray(fullTree())) << sources;
    EXPECT_EQ(rangesByProcess(reader), allRanges()) << sources;
    expectNothingLeft();
  }
}

TEST_F(TreeTest, ARankThatFailsEndsTheOthersAndLosesNothing) {
  ASSERT_EQ(WEXITSTATUS(launch("nvtx", "1")), 7) << errorText();
  EXPECT_EQ(textOf("printed.txt"), "[rank0]: trained\n[rank1]: trained\n");
  const Reader reader = trace();
  EXPECT_THAT(membersOf(reader), testing::UnorderedElementsAreArray(fullTree()));
  Counts expected = allRanges();
  expected.erase({1, "rank_program", "all-reduce"});
  EXPECT_EQ(rangesByProcess(reader), expected) << "the one in which rank 0 was terminated, too";
  expectNothingLeft();
}

TEST_F(TreeTest, ARankIsANumberOrNone) {
  const std::pair<const char*, int> cases[] = {{"RANK=12", 12},
                                               {"RANK=", -1},
                                               {"RANK=first", -1},
                                               {"RANK=1st SLURM_PROCID=3", 3},
                                               {"RANK=99999999999", -1}};
  for (const auto& [variables, rank] : cases) {
    const std::string environment = std::string("env -u RANK -u SLURM_PROCID ") + variables + ' ';
    ASSERT_EQ(shell(environment + program("lacuna") + " run --force -q -o out.lcn -- " +
                    program("nvtx_program") + " 0"),
              0);
    EXPECT_THAT(*trace().column<&prof::Process::rank>(), testing::ElementsAre(rank)) << variables;
  }
}

}  // namespace
}  // namespace lacuna
