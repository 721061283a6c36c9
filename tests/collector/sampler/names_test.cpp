// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/regular_file.h"
#include "proc/proc_file.h"
#include "sampler/executed_files.h"
#include "sampler/mapped_files.h"
#include "sampler/rings.h"
#include "sampler/stacks.h"
#include "symbols/name_module.h"

namespace lacuna::collector {
namespace {

namespace fs = std::filesystem;
using sampler::PerfRecord;
using symbols::ModuleFile;
using symbols::Naming;

/// Files that a program may have been run from, in a folder of the test's own.
class NamesTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!symbols::Symbolizer::available()) GTEST_SKIP() << "built without elfutils";
    std::string name = fs::temp_directory_path() / "lacuna-names-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    home_ = name;
    fs::copy_file(LACUNA_NAMED_PROGRAM, home_ / "program");
    const auto bytes = fs::file_size(home_ / "program");
    for (std::uint64_t offset = 0; offset < bytes; offset += 16) places_.push_back(offset);
  }
  void TearDown() override { fs::remove_all(home_); }

  [[nodiscard]] std::string at(const std::string& name) const { return home_ / name; }
  /// As a mapping of that file would show it.
  [[nodiscard]] ModuleFile mapped(const std::string& name) const {
    ModuleFile module{at(name), 0, 0, {}};
    const int fd = openRegularFile(module.path);
    EXPECT_TRUE(symbols::readMappedAs(fd, module.device, module.inode));
    module.buildId = symbols::buildIdOf(fd);
    close(fd);
    return module;
  }
  /// One without a build id, so that only its inode identifies it.
  void makePlain(const std::string& name) const { std::ofstream(at(name)) << "no program\n"; }

  Naming name(const ModuleFile& module, const symbols::NamingLimits& limits = {},
              const std::function<bool()>& stop = {}) {
    const Naming naming = symbols::nameModule(module, -1, places_, limits, stop, symbols_);
    EXPECT_EQ(symbols_.size(), places_.size());
    return naming;
  }
  [[nodiscard]] bool foundMain() const {
    return std::any_of(symbols_.begin(), symbols_.end(),
                       [](const auto& symbol) { return symbol.function == "main"; });
  }
  /// Makes `name` of the program, without its symbols and with a link to other.debug. False without
  /// objcopy.
  bool strip(const std::string& name) {
    const std::string command =
        "cd " + home_.string() + " && objcopy --only-keep-debug program other.debug && " +
        "objcopy --strip-all --add-gnu-debuglink=other.debug program " + name + " 2>/dev/null";
    return std::system(command.c_str()) == 0;
  }

  fs::path home_;
  std::vector<std::uint64_t> places_;  ///< of the program, in its file
  std::vector<symbols::Symbol> symbols_;
};

TEST_F(NamesTest, AFileThatIsTheOneThatWasMappedGivesNames) {
  EXPECT_EQ(name(mapped("program")), Naming::Done);
  EXPECT_TRUE(foundMain());
}

TEST_F(NamesTest, AnotherFileUnderItsNameGivesNone) {
  const ModuleFile module = mapped("program");
  fs::copy_file("/bin/sh", at("other"));
  fs::rename(at("other"), module.path);
  EXPECT_EQ(name(module), Naming::Differs);
  EXPECT_FALSE(foundMain());
}

TEST_F(NamesTest, ACopyWithTheSameBuildIdIsTheSame) {
  ModuleFile module = mapped("program");
  if (module.buildId.empty()) GTEST_SKIP() << "programs here have no build id";
  ++module.inode;
  EXPECT_EQ(name(module), Naming::Done);
  EXPECT_TRUE(foundMain());
}

TEST_F(NamesTest, WithoutABuildIdTheInodeDecides) {
  makePlain("plain");
  ModuleFile module = mapped("plain");
  EXPECT_EQ(module.buildId, "");
  EXPECT_EQ(name(module), Naming::Done);
  ++module.inode;
  EXPECT_EQ(name(module), Naming::Differs);
}

TEST_F(NamesTest, APipeUnderItsNameIsNotOpened) {
  const ModuleFile module = mapped("program");
  fs::remove(module.path);
  ASSERT_EQ(mkfifo(module.path.c_str(), 0600), 0);
  EXPECT_EQ(name(module), Naming::NoFile);
  fs::remove(module.path);
  EXPECT_EQ(name(module), Naming::NotThere);
  EXPECT_EQ(symbols_.at(1).address, places_.at(1));
}

TEST_F(NamesTest, DebugInformationBesideTheProgramGivesNames) {
  if (!strip("stripped")) GTEST_SKIP() << "no objcopy";
  if (mapped("stripped").buildId.empty()) GTEST_SKIP() << "programs here have no build id";
  EXPECT_EQ(name(mapped("stripped")), Naming::Done);
  EXPECT_TRUE(foundMain());
  fs::create_directory(at(".debug"));
  fs::rename(at("other.debug"), at(".debug/other.debug"));
  EXPECT_EQ(name(mapped("stripped")), Naming::Done);
  EXPECT_TRUE(foundMain());
}

TEST_F(NamesTest, DebugInformationOfAnotherProgramGivesNone) {
  if (!strip("stripped")) GTEST_SKIP() << "no objcopy";
  fs::copy_file("/bin/sh", at("other.debug"), fs::copy_options::overwrite_existing);
  EXPECT_EQ(name(mapped("stripped")), Naming::Done);
  EXPECT_FALSE(foundMain());
}

TEST_F(NamesTest, APipeInPlaceOfDebugInformationIsNotOpened) {
  if (!strip("stripped")) GTEST_SKIP() << "no objcopy";
  for (const char* piped : {"other.debug", "stripped.debug"}) {
    fs::remove(at(piped));
    ASSERT_EQ(mkfifo(at(piped).c_str(), 0600), 0);
  }
  EXPECT_EQ(name(mapped("stripped")), Naming::Done);
}

TEST_F(NamesTest, APipeThatReplacesAnOpenProgramIsNotOpened) {
  const ModuleFile module = mapped("program");
  const int fd = openRegularFile(module.path);
  fs::remove(module.path);
  ASSERT_EQ(mkfifo(module.path.c_str(), 0600), 0);
  EXPECT_EQ(symbols::nameModule(module, fd, places_, {}, {}, symbols_), Naming::Done);
  EXPECT_TRUE(foundMain());
  close(fd);
}

TEST_F(NamesTest, AReaderThatTakesTooLongCostsItsNamesAlone) {
  symbols::NamingLimits limits;
  limits.silent = std::chrono::milliseconds(-1);
  EXPECT_EQ(name(mapped("program"), limits), Naming::TookTooLong);
  EXPECT_EQ(name(mapped("program"), {}, [] { return true; }), Naming::Stopped);
  EXPECT_EQ(name(mapped("program")), Naming::Done);
}

TEST_F(NamesTest, AFileThatMakesNoSenseHurtsNobody) {
  const auto bytes = fs::file_size(at("program"));
  for (const std::uint64_t part : {1, 2, 3, 5, 10}) {
    fs::copy_file(LACUNA_NAMED_PROGRAM, at("cut"), fs::copy_options::overwrite_existing);
    fs::resize_file(at("cut"), bytes / 11 * part);
    const Naming naming = name(mapped("cut"));
    EXPECT_TRUE(naming == Naming::Done || naming == Naming::Failed) << static_cast<int>(naming);
  }
}

TEST_F(NamesTest, AFileThatItsPathLeadsToIsNotKeptOpen) {
  const ModuleFile module = mapped("program");
  PerfRecord map;
  map.pid = static_cast<std::uint32_t>(getpid());
  map.text = module.path;
  map.device = module.device;
  map.inode = module.inode;
  sampler::MappedFiles files;
  files.learn(map);
  EXPECT_EQ(map.buildId, module.buildId);
  EXPECT_EQ(files.fileOf(module), -1);
}

/// A process that sees another file under a name, and how it ended.
class OtherRootTest : public NamesTest {
 protected:
  static constexpr int kNotAllowed = 77;

  /// The child runs with `inside` in the place of `outside`, maps it, and reports its line of
  /// /proc/self/maps.
  pid_t mapInside(const std::string& outside, const std::string& inside, std::string& line) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      const bool own = unshare(CLONE_NEWNS) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0;
      if (!own || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
        _exit(kNotAllowed);
      if (mount(inside.c_str(), outside.c_str(), nullptr, MS_BIND, nullptr) != 0)
        _exit(kNotAllowed);
      const std::string maps = mapAndRead(outside);
      if (write(ends[1], maps.data(), maps.size()) < 0) _exit(1);
      close(ends[1]);
      for (;;) pause();
    }
    close(ends[1]);
    char part[4096];
    for (ssize_t got = 0; (got = read(ends[0], part, sizeof part)) > 0;)
      line.append(part, static_cast<std::size_t>(got));
    close(ends[0]);
    return child;
  }
  /// A process that sees another file under the name of "program", which it has mapped; -1 where
  /// that is not allowed.
  pid_t mapAnother(PerfRecord& map) {
    fs::copy_file("/bin/sh", at("elsewhere"));
    fs::rename(at("program"), at("inside"));
    fs::rename(at("elsewhere"), at("program"));
    std::string line;
    const pid_t child = mapInside(at("program"), at("inside"), line);
    if (line.empty()) {
      EXPECT_EQ(end(child), kNotAllowed);
      return -1;
    }
    map.kind = PerfRecord::Kind::Map;
    map.pid = static_cast<std::uint32_t>(child);
    unsigned long long start = 0, stop = 0, device = 0, inode = 0;
    EXPECT_EQ(std::sscanf(line.c_str(), "%llu %llu %llu %llu", &start, &stop, &device, &inode), 4);
    map.address = start;
    map.length = stop - start;
    map.device = device;
    map.inode = inode;
    map.text = at("program");
    return child;
  }
  static int end(pid_t child) {
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  }

 private:
  static std::string mapAndRead(const std::string& path) {
    const int fd = openRegularFile(path);
    if (fd < 0 || mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
      _exit(2);
    for (const timer::CodePiece& piece : timer::parseMaps(proc::read("/proc/self/maps"))) {
      if (piece.path != path) continue;
      return std::to_string(piece.start) + " " + std::to_string(piece.end) + " " +
             std::to_string(piece.device) + " " + std::to_string(piece.inode);
    }
    _exit(3);
  }
};

TEST_F(OtherRootTest, CodeOfAProcessThatSeesOtherFilesIsNamedByThose) {
  PerfRecord map;
  const pid_t child = mapAnother(map);
  if (child < 0) GTEST_SKIP() << "mounting is not allowed here";
  sampler::MappedFiles files;
  files.learn(map);
  end(child);
  const ModuleFile module{map.text, map.device, map.inode, map.buildId};
  EXPECT_EQ(module.buildId, mapped("inside").buildId);
  const int fd = files.fileOf(module);
  ASSERT_GE(fd, 0);
  EXPECT_EQ(symbols::nameModule(module, fd, places_, {}, {}, symbols_), Naming::Done);
  EXPECT_TRUE(foundMain());
  EXPECT_EQ(symbols::nameModule(module, -1, places_, {}, {}, symbols_), Naming::Differs)
      << "what is there for us";
}

/// An exec, and what the kernel reports then.
std::vector<PerfRecord> execOf(const PerfRecord& map) {
  PerfRecord exec;
  exec.kind = PerfRecord::Kind::Comm;
  exec.pid = exec.tid = map.pid;
  exec.exec = true;
  return {exec, map};
}

TEST_F(OtherRootTest, AProgramThatSeesOtherFilesIsTheOneThatItExecuted) {
  PerfRecord map;
  const pid_t child = mapAnother(map);
  if (child < 0) GTEST_SKIP() << "mounting is not allowed here";
  std::vector<std::string> seen;
  sampler::ExecutedFiles files([&](const std::string& image, const std::string& way) {
    seen.push_back(image);
    EXPECT_TRUE(fs::equivalent(way, at("inside"))) << way;
  });
  for (const PerfRecord& record : execOf(map)) files.take(record);
  PerfRecord scanned = execOf(map)[0];  // as a scan of /proc shows it
  scanned.image = map.text;
  scanned.device = map.device;
  scanned.inode = map.inode;
  files.take(scanned);
  EXPECT_EQ(seen, std::vector{at("program")}) << "once";
  end(child);

  seen.clear();
  sampler::ExecutedFiles later(
      [&](const std::string& image, const std::string&) { seen.push_back(image); });
  for (const PerfRecord& record : execOf(map)) later.take(record);
  EXPECT_TRUE(seen.empty()) << "what is there for us is another file";
}

TEST_F(NamesTest, AProgramThatHasEndedIsFoundUnderItsNameWhereThatIsTheSame) {
  const ModuleFile module = mapped("program");
  PerfRecord map;
  map.kind = PerfRecord::Kind::Map;
  map.pid = UINT32_MAX;
  map.text = module.path;
  map.device = module.device;
  map.inode = module.inode;
  std::vector<std::string> seen;
  sampler::ExecutedFiles files(
      [&](const std::string& image, const std::string&) { seen.push_back(image); });
  for (const PerfRecord& record : execOf(map)) files.take(record);
  files.take(map);  // a library, say
  EXPECT_EQ(seen, std::vector{at("program")});
}

}  // namespace
}  // namespace lacuna::collector
