// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>

#include "e2e/run_fixture.h"

namespace lacuna {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

/// Names of functions in samples, when the program's files are not what they were. Timers sample on
/// every machine.
class NamedSamplesTest : public RunTest {
 protected:
  void SetUp() override {
    if (shell(program("lacuna") +
              " run --no-report --trace samples --sampler timer -o first.lcn -- " +
              program("spin_program") + " 1 2>&1 | grep -q elfutils") == 0) {
      GTEST_SKIP() << "built without elfutils";
    }
    fs::copy_file(program("spin_program"), folder_ / "prog");
    fs::copy_file(program("other_spin_program"), folder_ / "other");
  }
  /// `lacuna run` on a shell's words, under a time limit.
  int sample(const std::string& words, const std::string& around = "timeout -k 5 60 ") {
    std::ofstream(folder_ / "program.sh") << words << "\n";
    return shell(around + program("lacuna") +
                 " run --no-report --trace samples --sampler timer -o out.lcn -- sh program.sh "
                 "2>stderr.txt");
  }
  static std::set<std::string> functionsIn(const prof::Reader& reader) {
    std::set<std::string> names;
    const auto functions = *reader.column<&prof::StackFrame::function>();
    for (const auto id : functions) names.emplace(reader.text(id));
    return names;
  }
  static std::set<std::string> modulesIn(const prof::Reader& reader) {
    std::set<std::string> names;
    const auto modules = *reader.column<&prof::StackFrame::module>();
    for (const auto id : modules) names.emplace(reader.text(id));
    return names;
  }
  static std::string logOf(const prof::Reader& reader) {
    std::string text;
    const auto lines = *reader.column<&prof::LogLine::text>();
    for (const auto id : lines) text += std::string(reader.text(id)) + "\n";
    return text;
  }
};

TEST_F(NamedSamplesTest, AProgramThatWasReplacedHasAddressesAndTheLogReportsIt) {
  ASSERT_EQ(WEXITSTATUS(sample("./prog 100; mv other prog; exit 3")), 3) << errorText();
  const prof::Reader reader = trace();
  EXPECT_THAT(functionsIn(reader), AllOf(Not(Contains("spinHot")), Not(Contains("otherHot"))));
  EXPECT_THAT(modulesIn(reader), Contains((fs::canonical(folder_) / "prog").string()));
  EXPECT_THAT(logOf(reader), HasSubstr((fs::canonical(folder_) / "prog").string() +
                                       ": lacuna found another file"));
  EXPECT_THAT(errorText(), HasSubstr("another file under that name"));
}

TEST_F(NamedSamplesTest, APipeInThePlaceOfAProgramHangsNobody) {
  ASSERT_EQ(WEXITSTATUS(sample("./prog 100; rm prog; mkfifo prog; exit 3")), 3)
      << "124 is too late. " << errorText();
  EXPECT_THAT(logOf(trace()), HasSubstr("prog: what has that name now is no file"));
}

TEST_F(NamedSamplesTest, AProgramThatSeesOtherFilesHasTheirNames) {
  const std::string inside = "mount --bind prog other && ./other 150; exit 3";
  if (shell("unshare -m sh -c 'mount --bind prog other' 2>unshare.txt") != 0) {
    GTEST_SKIP() << "mounting is not allowed here";
  }
  ASSERT_EQ(WEXITSTATUS(sample("exec unshare -m sh -c '" + inside + "'")), 3) << errorText();
  const prof::Reader reader = trace();
  EXPECT_THAT(functionsIn(reader), AllOf(Contains("spinHot"), Not(Contains("otherHot"))));
  EXPECT_THAT(modulesIn(reader), Contains((fs::canonical(folder_) / "other").string()));
}

TEST_F(NamedSamplesTest, AProgramInAChrootHasTheNamesOfItsOwnFile) {
  // Nothing of lacuna is in there, so only the kernel can sample it.
  shell(program("lacuna") + " doctor --json >doctor.json");
  const std::string doctor = textOf("doctor.json");
  const auto at = doctor.find("\"cpu_samples\"");
  if (at == std::string::npos || doctor.find("\"works\"", at) > doctor.find('\n', at)) {
    GTEST_SKIP() << "the kernel refuses its samples: lacuna doctor says why";
  }
  ASSERT_EQ(shell("mkdir -p jail$PWD && cp prog jail$PWD/prog && mv other prog && for file in "
                  "$(ldd jail$PWD/prog | grep -o '/[^ ]*'); do mkdir -p jail$(dirname $file) && cp "
                  "-L $file jail$file; done"),
            0);
  if (WEXITSTATUS(shell("chroot jail $PWD/prog 1 2>chroot.txt")) != 4) {
    GTEST_SKIP() << "chroot is not allowed here";
  }
  ASSERT_EQ(
      WEXITSTATUS(lacuna("--trace samples --sampler perf -o out.lcn -- chroot jail $PWD/prog 150")),
      4)
      << errorText();
  EXPECT_THAT(functionsIn(trace()), AllOf(Contains("spinHot"), Not(Contains("otherHot"))));
}

TEST_F(NamedSamplesTest, ASignalWhileNamesAreSoughtEndsThat) {
  const std::string hanging = program("libhanging_symbols.so");
  ASSERT_TRUE(fs::exists(hanging));
  const auto begin = std::chrono::steady_clock::now();
  std::ofstream(folder_ / "program.sh") << "./prog 100; touch over; exit 3\n";
  // A sanitizer wants to be the first library.
  const std::string before =
      "ASAN_OPTIONS=\"$ASAN_OPTIONS verify_asan_link_order=0\" LD_PRELOAD=" + hanging + " ";
  // After the program's end, a child of lacuna looks for names.
  const std::string run =
      before + program("lacuna") +
      " run --no-report --trace samples --sampler timer -o out.lcn -- sh program.sh 2>stderr.txt & "
      "run=$!; until [ -e over ] && grep -q lacuna /proc/$(cat /proc/$run/task/$run/children | cut "
      "-d' ' -f1)/comm 2>/dev/null; do kill -0 $run || break; sleep 0.05; done; sleep 0.5; kill "
      "-TERM $run; wait $run";
  ASSERT_EQ(WEXITSTATUS(shell(run)), 3) << errorText();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(25));
  const prof::Reader reader = trace();
  EXPECT_GT(reader.rows<prof::CpuSample>(), 0u);
  EXPECT_THAT(logOf(reader), HasSubstr("a signal ended the search for names"));
  expectNothingLeft();
}

}  // namespace
}  // namespace lacuna
