// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

// The output of `lacuna doctor`, on this machine and on others that stand-ins and variables make of
// it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "support/programs.h"

namespace lacuna {
namespace {

namespace fs = std::filesystem;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

struct Finding {
  std::string title, state, detail, remedy;
};

class DoctorTest : public testing::Test {
 protected:
  DoctorTest() {
    fs::create_directories(folder_);
    fs::permissions(folder_, fs::perms::all);
  }
  ~DoctorTest() override { fs::remove_all(folder_); }

  /// Everything it prints, with these variables set by env(1).
  std::string doctor(const std::string& words, const std::string& variables = "",
                     const std::string& before = "") {
    const std::string out = (folder_ / "out.txt").string();
    const int status = std::system(
        (before + "env -u NVTX_INJECTION64_PATH -u CUDA_INJECTION64_PATH -u LACUNA_INJECTION " +
         variables + " " + test::program("lacuna") + " doctor " + words + " >" + out)
            .c_str());
    EXPECT_EQ(WEXITSTATUS(status), 0);
    std::ifstream file(out);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  std::map<std::string, Finding> examine(const std::string& variables = "",
                                         const std::string& before = "") {
    const std::string text = doctor("--json", variables, before);
    std::map<std::string, Finding> findings;
    order_.clear();
    simdjson::dom::element document;
    EXPECT_EQ(parser_.parse(text).get(document), simdjson::SUCCESS) << text;
    for (const simdjson::dom::element element : document.get_array()) {
      const auto field = [&](const char* name) {
        return std::string(element[name].get_string().value());
      };
      EXPECT_EQ(element.get_object().size(), 5u);
      order_.push_back(field("id"));
      findings[order_.back()] = {field("title"), field("state"), field("detail"), field("remedy")};
    }
    return findings;
  }
  /// The words to put before a command so that /dev/shm has that size; empty where nothing can be
  /// mounted.
  static std::string withSharedMemory(const std::string& size) {
    for (const std::string unshare : {"unshare -m", "unshare -Urm"}) {
      const std::string before = unshare + " sh -c 'mount -t tmpfs -o size=" + size +
                                 " tmpfs /dev/shm && exec \"$@\"' sh ";
      if (std::system((before + "true 2>/dev/null").c_str()) == 0) return before;
    }
    return {};
  }
  /// With stand-ins for the driver and CUPTI.
  Finding withStandIns(const std::string& id, const std::string& variables) {
    return examine("LD_LIBRARY_PATH=" LACUNA_STAND_INS " " + variables).at(id);
  }

  fs::path folder_ =
      fs::temp_directory_path() / ("lacuna-doctor-test-" + std::to_string(::getpid()));
  std::vector<std::string> order_;
  simdjson::dom::parser parser_;
};

TEST_F(DoctorTest, TheIdsAreThoseThatAreDocumented) {
  examine();
  EXPECT_THAT(order_, ElementsAre("nvtx", "cpu_samples", "python_frames", "clock", "shared_memory",
                                  "output", "driver", "cupti", "gpu_counters", "gpu_power",
                                  "container", "leftovers"));
}

TEST_F(DoctorTest, EveryFindingStatesTheFaultAndWithoutDataTheRemedy) {
  for (const auto& [id, finding] : examine()) {
    EXPECT_THAT(finding.state, AnyOf("works", "limited", "missing")) << id;
    EXPECT_THAT(finding.title, Not(IsEmpty())) << id;
    EXPECT_THAT(finding.detail, Not(IsEmpty())) << id;
    EXPECT_TRUE(finding.state == "works" || !finding.remedy.empty()) << id;
    EXPECT_TRUE(finding.state != "works" || finding.remedy.empty()) << id;
  }
}

TEST_F(DoctorTest, TheTextShowsTheSame) {
  // Other processes leave shared memory behind and remove it. A row that changes meanwhile is not
  // compared.
  const auto before = examine();
  const std::string text = doctor("");
  const auto after = examine();
  ASSERT_EQ(before.size(), after.size());
  for (const auto& [id, finding] : before) {
    EXPECT_THAT(text, HasSubstr("  " + finding.title + ": "));
    if (after.at(id).state != finding.state || after.at(id).remedy != finding.remedy) continue;
    EXPECT_THAT(text, HasSubstr(finding.state + std::string(9 - finding.state.size(), ' ') +
                                finding.title + ": "));
    if (finding.remedy.empty()) continue;
    EXPECT_THAT(text, HasSubstr("Remedy: " + finding.remedy + "\n"));
  }
  EXPECT_THAT(text, Not(HasSubstr("\033["))) << "no colours when nobody looks";
}

TEST_F(DoctorTest, AListenerOfAnotherToolIsNamed) {
  const Finding taken = examine("NVTX_INJECTION64_PATH=/opt/other/tool.so").at("nvtx");
  EXPECT_EQ(taken.state, "missing");
  EXPECT_THAT(taken.detail, HasSubstr("NVTX_INJECTION64_PATH is set to /opt/other/tool.so"));
  EXPECT_EQ(taken.remedy, "unset NVTX_INJECTION64_PATH");
}

TEST_F(DoctorTest, OurOwnListenerTakesNothingAway) {
  const Finding free = examine().at("nvtx");
  ASSERT_EQ(free.state, "works") << free.detail;
  const auto begin = free.detail.find('/');
  const std::string library = free.detail.substr(begin, free.detail.rfind('.') - begin);
  const Finding set = examine("NVTX_INJECTION64_PATH=" + library).at("nvtx");
  EXPECT_EQ(set.state, "works") << set.detail;
}

TEST_F(DoctorTest, ARecorderThatIsNotThereIsMissing) {
  const Finding nvtx = examine("LACUNA_INJECTION=/nowhere/liblacuna_inject.so").at("nvtx");
  EXPECT_EQ(nvtx.state, "missing");
  EXPECT_THAT(nvtx.detail, HasSubstr("/nowhere/liblacuna_inject.so"));
  EXPECT_THAT(nvtx.remedy, HasSubstr("LACUNA_INJECTION"));
  EXPECT_THAT(nvtx.detail, Not(HasSubstr("Remedy"))) << "it has a place of its own";
}

TEST_F(DoctorTest, SamplesAreTriedAsARunTriesThem) {
  if (examine().at("cpu_samples").detail.starts_with("perf_event_open is refused")) {
    GTEST_SKIP() << "the kernel samples nobody here";
  }
  // Room for one file beside the standard ones; a core's samples take two.
  const Finding samples =
      examine("ASAN_OPTIONS=detect_leaks=0", "exec 3<&-; prlimit --nofile=4 ").at("cpu_samples");
  EXPECT_EQ(samples.state, "limited");
  EXPECT_THAT(samples.detail, HasSubstr("has no room for them now (Too many open files)"));
  EXPECT_THAT(samples.remedy, HasSubstr("ulimit -n"));
}

TEST_F(DoctorTest, LittleSharedMemoryIsReported) {
  if (withSharedMemory("64m").empty()) GTEST_SKIP() << "file systems cannot be mounted here";
  const Finding little = examine("", withSharedMemory("64m")).at("shared_memory");
  EXPECT_EQ(little.state, "limited");
  EXPECT_THAT(little.detail, HasSubstr("64.0 MiB free. That is room for a few processes"));
  const Finding less = examine("", withSharedMemory("24m")).at("shared_memory");
  EXPECT_EQ(less.state, "limited");
  EXPECT_THAT(less.detail,
              HasSubstr("24.0 MiB free. Events in flight go through files beside the trace"));
}

TEST_F(DoctorTest, TheDriverNamesItsOwn) {
  const Finding works = withStandIns("driver", "STAND_IN_CUINIT=0");
  EXPECT_EQ(works.state, "works");
  EXPECT_EQ(works.detail, "CUDA 13.1, 2 devices.");
  const Finding fails = withStandIns("driver", "STAND_IN_CUINIT=100");
  EXPECT_EQ(fails.state, "missing");
  EXPECT_THAT(fails.detail, HasSubstr("cuInit fails with 100"));
  EXPECT_THAT(fails.remedy, HasSubstr("nvidia-smi"));
}

TEST_F(DoctorTest, CuptiThatCanBeUsedWorksUnlessTheListenerIsTaken) {
  const Finding works = withStandIns("cupti", "STAND_IN_SUBSCRIBE=0");
  EXPECT_EQ(works.state, "works") << works.detail;
  EXPECT_THAT(works.detail, HasSubstr("CUPTI API 130001"));
  const Finding taken =
      withStandIns("cupti", "STAND_IN_SUBSCRIBE=0 CUDA_INJECTION64_PATH=/opt/other/tool.so");
  EXPECT_EQ(taken.state, "missing");
  EXPECT_THAT(taken.detail, HasSubstr("CUDA_INJECTION64_PATH is set to /opt/other/tool.so"));
  EXPECT_EQ(taken.remedy, "unset CUDA_INJECTION64_PATH");
}

TEST_F(DoctorTest, EachRefusalOfCuptiHasItsRemedy) {
  const std::map<std::string, std::pair<std::string, std::string>> refusals{
      {"39", {"another profiler holds it", "End the other profiler"}},
      {"15", {"without a driver it cannot record", "with an NVIDIA GPU and driver"}},
      {"999", {"without a driver it cannot record", "with an NVIDIA GPU and driver"}},
      {"7", {"refuses with code 7", "the CUPTI of the driver's CUDA version"}}};
  for (const auto& [code, words] : refusals) {
    const Finding refused = withStandIns("cupti", "STAND_IN_SUBSCRIBE=" + code);
    EXPECT_EQ(refused.state, "missing") << code;
    EXPECT_THAT(refused.detail, HasSubstr(words.first)) << code;
    EXPECT_THAT(refused.remedy, HasSubstr(words.second)) << code;
  }
}

TEST_F(DoctorTest, LittleRoomForTracesIsReported) {
  if (withSharedMemory("8m").empty()) GTEST_SKIP() << "file systems cannot be mounted here";
  const Finding output =
      examine("", withSharedMemory("8m") + "sh -c 'cd /dev/shm; exec \"$@\"' sh ").at("output");
  EXPECT_EQ(output.state, "limited");
  EXPECT_EQ(output.detail, "/dev/shm has 8.00 MiB free. Most traces need more.");
  EXPECT_THAT(output.remedy, HasSubstr("Make room, or name a file elsewhere"));
}

TEST_F(DoctorTest, WhatKilledRunsLeftIsNamedAndRemoved) {
  const std::string own = withSharedMemory("8m");
  if (own.empty()) GTEST_SKIP() << "file systems cannot be mounted here";
  const std::string before =
      own +
      "sh -c 'mkdir -m 700 /dev/shm/lacuna-dead $TMPDIR/lacuna-self-dead; echo 0000000000000007 "
      "/nowhere/a.lcn.recording >/dev/shm/lacuna-dead/owner; echo x >/dev/shm/lacuna-dead/7-0.lcr; "
      "exec \"$@\"' sh ";
  const std::string temporary = "TMPDIR=" + folder_.string() + " ";
  const Finding found = examine("", temporary + before).at("leftovers");
  EXPECT_EQ(found.state, "limited");
  EXPECT_THAT(found.detail, HasSubstr("/dev/shm/lacuna-dead ("));
  EXPECT_THAT(found.detail, HasSubstr("lacuna-self-dead ("));
  EXPECT_EQ(found.remedy, "lacuna doctor --clean");
  fs::remove(folder_ / "lacuna-self-dead");
  const std::string cleaned = doctor("--clean", "", temporary + before);
  EXPECT_THAT(cleaned, HasSubstr("removed /dev/shm/lacuna-dead ("));
  EXPECT_FALSE(fs::exists(folder_ / "lacuna-self-dead"));
}

TEST_F(DoctorTest, ALimitOfFilesIsReported) {
  const Finding output = examine("", "prlimit --fsize=1048576 ").at("output");
  EXPECT_EQ(output.state, "limited");
  EXPECT_THAT(output.detail, HasSubstr("Files may be 1.00 MiB long at most (ulimit -f)"));
  EXPECT_THAT(output.detail, HasSubstr("record nothing"));
  EXPECT_THAT(output.remedy, HasSubstr("ulimit -f unlimited"));
  EXPECT_THAT(examine("", "prlimit --fsize=1073741824 ").at("output").detail,
              Not(HasSubstr("record nothing")));
}

TEST_F(DoctorTest, AFolderThatThisUserCannotWriteIsLimited) {
  const std::string user =
      geteuid() == 0 ? "setpriv --reuid 65534 --regid 65534 --clear-groups " : "";
  const std::string able = user + "sh -c '" + test::program("lacuna") +
                           " --version >/dev/null && [ ! -w / ]' 2>/dev/null";
  if (std::system(able.c_str()) != 0)
    GTEST_SKIP() << "there is no such user here, or it may write everywhere";
  const Finding output = examine("", "cd / && " + user).at("output");
  EXPECT_EQ(output.state, "limited");
  EXPECT_EQ(output.detail, "/ cannot be written by this user.");
  EXPECT_THAT(output.remedy, HasSubstr("lacuna run -o FILE.lcn"));
  EXPECT_EQ(examine("", "cd " + folder_.string() + " && " + user).at("output").state, "works");
}

}  // namespace
}  // namespace lacuna
