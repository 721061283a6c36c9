// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

// The commands that handle trace files, as a user calls them: what they print, report and answer.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <simdjson.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "base/checksum.h"
#include "lacuna/prof/reader.h"
#include "lacuna/prof/recording.h"
#include "lacuna/prof/writer.h"
#include "support/programs.h"
#include "support/sanitizer.h"

namespace lacuna {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

/// Makes a file that takes a while to convert.
constexpr const char* kLongRun = test::kThreadSanitized ? "generate -o run.lcn --events 60000"
                                                        : "generate -o run.lcn --events 300000";

class TraceFiles : public testing::Test {
 protected:
  TraceFiles() { fs::create_directories(folder_); }
  ~TraceFiles() override { fs::remove_all(folder_); }

  /// Runs `lacuna WORDS` in the folder; its exit status.
  int lacuna(const std::string& words) { return shell(words + " >out.txt 2>err.txt </dev/null"); }
  /// The same with what is printed left to the words.
  int shell(const std::string& words, const std::string& before = "") {
    const int status = std::system(
        ("cd " + folder_.string() + " && " + before + test::program("lacuna") + " " + words)
            .c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  [[nodiscard]] std::string read(const char* name) const {
    std::ifstream file(folder_ / name);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  [[nodiscard]] std::string printed() const { return read("out.txt"); }
  [[nodiscard]] std::string errorText() const { return read("err.txt"); }
  [[nodiscard]] std::uint64_t rangesIn(const char* name) const {
    const auto reader = prof::Reader::open(folder_ / name);
    return reader ? reader->rows<prof::Range>() : 0;
  }
  /// The name of a file that an export has not finished.
  [[nodiscard]] std::optional<std::string> unfinished() const {
    for (const auto& entry : fs::directory_iterator(folder_)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("unfinished-")) return name;
    }
    return std::nullopt;
  }
  /// Sends a signal to `lacuna WORDS` once it has begun; its wait status. Its temporary files are
  /// in "tmp".
  int interrupted(std::vector<const char*> words, int number,
                  const std::function<bool(pid_t)>& begun) {
    words.insert(words.begin(), "lacuna");
    words.push_back(nullptr);
    const pid_t pid = fork();
    if (pid == 0) {
      if (chdir(folder_.c_str()) == 0 && setenv("TMPDIR", "tmp", 1) == 0)
        execv(test::program("lacuna").c_str(), const_cast<char* const*>(words.data()));
      _exit(126);
    }
    int status = 0;
    while (!begun(pid)) {
      if (waitpid(pid, &status, WNOHANG) == pid) return status;
      usleep(500);
    }
    kill(pid, number);
    waitpid(pid, &status, 0);
    return status;
  }
  int interruptedConvert(const char* out, int number) {
    return interrupted({"convert", "-q", "--force", "run.lcn", "-o", out}, number,
                       [&](pid_t) { return unfinished().has_value(); });
  }
  /// True when the file there can be unpacked to its end.
  [[nodiscard]] bool isComplete(const char* name) const {
    return std::system(("gzip -t '" + (folder_ / name).string() + "' 2>/dev/null").c_str()) == 0;
  }
  /// True when the process has a file without a name open that lies in that folder. (The thread
  /// sanitizer has one with a name there for a moment, before the program begins.)
  static bool holdsNamelessFileIn(pid_t pid, const fs::path& folder) {
    std::error_code gone;  // the process ends when it likes
    for (fs::directory_iterator entry("/proc/" + std::to_string(pid) + "/fd", gone), end;
         entry != end; entry.increment(gone)) {
      const std::string file = fs::read_symlink(entry->path(), gone).string();
      if (file.starts_with(folder.string() + "/") && file.ends_with(" (deleted)")) return true;
    }
    return false;
  }
  void generate() {
    ASSERT_EQ(lacuna("generate -o run.lcn --events 20000 --seed 3"), 0) << errorText();
  }
  void cut(std::size_t bytes) {
    generate();
    fs::resize_file(folder_ / "run.lcn", fs::file_size(folder_ / "run.lcn") - bytes);
  }

  /// The JSON that was printed; holds until it is asked for again.
  simdjson::dom::element json() {
    simdjson::dom::element document;
    EXPECT_EQ(parser_.parse(printed()).get(document), simdjson::SUCCESS) << printed();
    return document;
  }
  /// Makes the header of a trace that of the next major version, with a checksum that is right.
  void makeNewer(const char* name) {
    std::fstream file(folder_ / name, std::ios::in | std::ios::out | std::ios::binary);
    std::array<char, 64> header{};
    file.read(header.data(), header.size());
    ++header[8];
    const std::uint64_t sum = prof::base::checksum(std::as_bytes(std::span(header)).first(56));
    std::memcpy(header.data() + 56, &sum, sizeof sum);
    file.seekp(0).write(header.data(), header.size());
  }

  fs::path folder_ = fs::temp_directory_path() / ("lacuna-cli-test-" + std::to_string(::getpid()));
  simdjson::dom::parser parser_;
};

TEST_F(TraceFiles, GenerateIsRepeatableAndInfoSumsItUp) {
  generate();
  ASSERT_EQ(lacuna("generate -o again.lcn --events 20000 --seed 3"), 0);
  EXPECT_EQ(read("run.lcn"), read("again.lcn"));
  ASSERT_EQ(lacuna("info run.lcn"), 0);
  EXPECT_THAT(printed(), HasSubstr("complete"));
  EXPECT_THAT(printed(), HasSubstr("kernel"));
  EXPECT_THAT(printed(), testing::Not(HasSubstr("\033["))) << "no colours when nobody looks";
}

TEST_F(TraceFiles, InfoBeginsWithTheRunAndShowsEncodingsOnRequest) {
  generate();
  ASSERT_EQ(lacuna("info run.lcn"), 0);
  const std::string brief = printed();
  EXPECT_THAT(brief, HasSubstr("\nprogram  python train.py"));
  EXPECT_THAT(brief,
              testing::ContainsRegex("devices  cuda:0 [^\n]+\nsteps    [1-9][0-9,]*\nrows "));
  EXPECT_THAT(brief, testing::Not(HasSubstr("stored as")));
  ASSERT_EQ(lacuna("info run.lcn --encodings"), 0);
  EXPECT_THAT(printed(), HasSubstr("stored as"));
  EXPECT_EQ(lacuna("info run.lcn --encodings --json"), 2);
  ASSERT_EQ(lacuna("info " LACUNA_TEST_DATA "/format-1.0.lcn"), 0);
  EXPECT_THAT(printed(), HasSubstr("\nprogram  train\ndate     2023-11-14 22:13:20 UTC\n"));
}

TEST_F(TraceFiles, InfoPrintsJson) {
  generate();
  ASSERT_EQ(lacuna("info --json run.lcn"), 0);
  EXPECT_THAT(printed(), HasSubstr("\"complete\": true"));
  EXPECT_THAT(printed(), HasSubstr("\"damage\": []"));
  EXPECT_THAT(std::string(std::string_view(json()["program"])),
              testing::StartsWith("python train.py"));
  EXPECT_TRUE(json()["host"].is_null()) << "the generator names none";
  EXPECT_GT(std::uint64_t(json()["steps"]), 0u);
}

TEST_F(TraceFiles, InfoNamesWhatAnUnfinishedFileLacks) {
  cut(2000);
  ASSERT_EQ(lacuna("info run.lcn"), 0);
  EXPECT_THAT(printed() + errorText(), HasSubstr("end"));
  ASSERT_EQ(lacuna("info --json run.lcn"), 0);
  EXPECT_THAT(printed(), HasSubstr("\"complete\": false"));
}

TEST_F(TraceFiles, ADamagedHeaderIsNoObstacle) {
  generate();
  const std::uint64_t ranges = rangesIn("run.lcn");
  for (const std::streamsize damaged : {std::streamsize{2}, std::streamsize{64}}) {
    std::fstream(folder_ / "run.lcn", std::ios::in | std::ios::out | std::ios::binary)
        .write(std::string(64, '\0').data(), damaged);
    ASSERT_EQ(lacuna("info run.lcn"), 0) << errorText();
    EXPECT_THAT(printed(), HasSubstr("the file header is damaged"));
    ASSERT_EQ(lacuna("query run.lcn --csv 'SELECT count(*) FROM range'"), 0) << errorText();
    EXPECT_THAT(printed(), HasSubstr(std::to_string(ranges)));
  }
}

TEST_F(TraceFiles, InfoTakesATraceOfEveryKind) {
  const auto keysOf = [](const simdjson::dom::object object) {
    std::vector<std::string> keys;
    for (const auto member : object) keys.emplace_back(member.key);
    return keys;
  };
  const auto kernels = [this] {
    for (const simdjson::dom::element table : simdjson::dom::array(json()["tables"])) {
      if (std::string_view(table["name"]) == "kernel") return std::uint64_t(table["rows"]);
    }
    return std::uint64_t{0};
  };
  ASSERT_EQ(lacuna("generate -o run.lcn --events 2000"), 0);
  ASSERT_EQ(lacuna("info --json run.lcn"), 0);
  const std::uint64_t rows = kernels();
  const auto keys = keysOf(json());
  EXPECT_GT(rows, 0u);
  for (const auto& [name, source] : {std::pair("run.json", "Kineto or Chrome JSON"),
                                     std::pair("run.json.gz", "Kineto or Chrome JSON"),
                                     std::pair("run.pftrace", "Perfetto trace"),
                                     std::pair("run.sqlite", "SQLite export of Nsight Systems")}) {
    ASSERT_EQ(lacuna(std::string("convert -q run.lcn -o ") + name), 0) << errorText();
    ASSERT_EQ(lacuna(std::string("info --json ") + name), 0) << errorText();
    EXPECT_EQ(keysOf(json()), keys) << name;
    EXPECT_EQ(std::string_view(json()["source"]), source);
    EXPECT_EQ(std::uint64_t(json()["bytes"]), fs::file_size(folder_ / name));
    EXPECT_EQ(kernels(), rows) << name;
    EXPECT_TRUE(json()["complete"].is_null()) << "which is known of .lcn only";
    ASSERT_EQ(lacuna(std::string("info ") + name), 0);
    EXPECT_THAT(printed(), testing::AllOf(HasSubstr(source), HasSubstr("kernel"))) << name;
  }
  fs::copy_file(LACUNA_FUZZ_CORPUS "/snapshot/snapshot", folder_ / "memory.pickle");
  ASSERT_EQ(lacuna("info memory.pickle"), 0) << errorText();
  EXPECT_THAT(printed(),
              testing::AllOf(HasSubstr("memory snapshot of PyTorch"), HasSubstr("allocation")));
}

TEST_F(TraceFiles, InfoNamesWhatATraceOfAnotherToolLacks) {
  std::ofstream(folder_ / "cut.json") << R"({"traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "x", "pid": 1, "tid": 1, "ts": 1, "dur": 1},
{"ph": "X", "cat": "cpu_op", "na)";
  ASSERT_EQ(lacuna("info cut.json"), 0);
  EXPECT_THAT(printed(), HasSubstr("the file ends early"));
  ASSERT_EQ(lacuna("info --json cut.json"), 0);
  const simdjson::dom::array warnings = json()["warnings"];
  EXPECT_EQ(warnings.size(), 1u);
  EXPECT_EQ(lacuna("info --verify cut.json"), 1);
  std::ofstream(folder_ / "cut.json.gz") << std::string("\x1f\x8b\x08\0\0\0\0\0\0\x03", 10);
  EXPECT_EQ(lacuna("info cut.json.gz"), 1);
  EXPECT_THAT(errorText(), HasSubstr("the compressed data ends early, after 0 bytes of text"));
}

TEST_F(TraceFiles, ACompressedDatabaseNeedsATemporaryFolderThatIsThere) {
  ASSERT_EQ(lacuna("generate -o run.lcn --events 100"), 0);
  ASSERT_EQ(lacuna("convert -q run.lcn -o run.sqlite && gzip -1 run.sqlite"), 0) << errorText();
  EXPECT_EQ(shell("info run.sqlite.gz >out.txt 2>err.txt", "TMPDIR=/nowhere "), 1);
  EXPECT_THAT(errorText(), testing::AllOf(HasSubstr("run.sqlite.gz: "), HasSubstr("TMPDIR")));
}

TEST_F(TraceFiles, ACompressedTraceOfOursIsToBeUnpacked) {
  ASSERT_EQ(lacuna("generate -o run.lcn --events 100 && gzip -1 run.lcn"), 0);
  for (const char* words :
       {"info run.lcn.gz", "report run.lcn.gz", "convert run.lcn.gz -o run.json"}) {
    EXPECT_EQ(lacuna(words), 1) << words;
    EXPECT_THAT(
        errorText(),
        HasSubstr(
            "run.lcn.gz: is a .lcn that was compressed, which it is inside; unpack it first"));
  }
}

TEST_F(TraceFiles, ATraceCanBeWrittenToADevice) {
  ASSERT_EQ(lacuna("generate -o run.lcn --events 100"), 0);
  EXPECT_EQ(lacuna("convert -q --to lcn run.lcn -o /dev/null"), 0) << errorText();
  EXPECT_EQ(printed(), "/dev/null\n");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(TraceFiles, ADatabaseReplacesFilesAlone) {
  ASSERT_EQ(lacuna("generate -o run.lcn --events 100"), 0);
  std::ofstream(folder_ / "old.sqlite") << "what was there";
  fs::create_symlink("old.sqlite", folder_ / "link.sqlite");
  ASSERT_EQ(lacuna("convert -q run.lcn -o link.sqlite --force"), 0) << errorText();
  EXPECT_TRUE(fs::is_symlink(folder_ / "link.sqlite"));
  EXPECT_TRUE(read("old.sqlite").starts_with("SQLite format 3"));
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(lacuna("convert -q --to nsys run.lcn -o pipe"), 1);
  EXPECT_THAT(errorText(), HasSubstr("pipe: is no file, which a database must be written to"));
  EXPECT_TRUE(fs::is_fifo(folder_ / "pipe"));
}

TEST_F(TraceFiles, InfoNamesABlockOfDropsThatCannotBeRead) {
  const fs::path path = folder_ / "run.lcn";
  auto writer = prof::Writer::create(path, {.blockRows = 1000});
  ASSERT_TRUE(writer.ok());
  std::mt19937 random(1);
  for (int i = 0; i < 1000; ++i) writer->append(prof::Drop{.timeNs = i, .count = random() % 1000});
  writer->append(prof::Drop{.timeNs = 1000, .count = 7, .reason = writer->intern("no room")});
  // So much that checksums are not tested as the file is opened.
  const std::vector<std::byte> filling(std::size_t{65} << 20);
  const std::array<std::span<const std::byte>, 1> sections{filling};
  writer->appendDerived("filling", sections);
  ASSERT_TRUE(writer->finish().ok());
  const prof::BlockInfo block = prof::Reader::open(path)->table(prof::Drop::kTable)->blocks.front();
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary)
      .seekp(static_cast<std::streamoff>(block.offset + block.bytes / 2))
      .write(std::string(64, '\x5a').data(), 64);

  ASSERT_EQ(lacuna("info --json run.lcn"), 0) << errorText();
  const auto answer = json();
  EXPECT_EQ(std::uint64_t(answer["dropped_events"]), 7u) << "of the block that is whole";
  const simdjson::dom::array damage = answer["damage"];
  ASSERT_EQ(damage.size(), 1u);
  EXPECT_EQ(std::uint64_t(damage.at(0)["offset"]), block.offset);
  EXPECT_THAT(std::string(std::string_view(damage.at(0)["what"])),
              HasSubstr("a block of 1000 rows of table drop"));
}

TEST_F(TraceFiles, InfoKeepsNamesOfUnknownTablesOnTheirLines) {
  const std::array columns{prof::ColumnSpec{"a\tb\nc", prof::ColumnType::U32, prof::Refers::Nothing,
                                            prof::Hint::Plain, ""}};
  const prof::TableSpec odd{4000, "odd\ttable\nname", columns.data(), columns.size()};
  auto writer = prof::Writer::create(folder_ / "run.lcn");
  ASSERT_TRUE(writer.ok());
  const std::array<std::uint32_t, 3> values{1, 2, 3};
  const std::array<const void*, 1> data{values.data()};
  writer->appendColumns(odd, data, values.size());
  ASSERT_TRUE(writer->finish().ok());
  ASSERT_EQ(lacuna("info run.lcn --encodings"), 0) << errorText();
  EXPECT_THAT(printed(), testing::AllOf(HasSubstr("odd table name  3 rows"), HasSubstr("\n a b c "),
                                        testing::Not(HasSubstr("\t"))));
}

TEST_F(TraceFiles, RecoverMakesACompleteFileAndKeepsTheOldOne) {
  cut(2000);
  const std::string before = read("run.lcn");
  const std::uint64_t ranges = rangesIn("run.lcn");
  ASSERT_EQ(lacuna("recover run.lcn -o whole.lcn"), 0) << errorText();
  EXPECT_THAT(errorText(), HasSubstr("lost"));
  EXPECT_EQ(read("run.lcn"), before);
  EXPECT_EQ(rangesIn("whole.lcn"), ranges);
  ASSERT_EQ(lacuna("info --json whole.lcn"), 0);
  EXPECT_THAT(printed(), HasSubstr("\"complete\": true"));
}

TEST_F(TraceFiles, RecoverReportsLossesAsJson) {
  cut(2000);
  ASSERT_EQ(lacuna("recover --json --force run.lcn -o whole.lcn"), 0);
  EXPECT_THAT(errorText(), IsEmpty());
  auto answer = json();
  EXPECT_EQ(std::string_view(answer["file"]), "whole.lcn");
  EXPECT_EQ(std::string_view(answer["from"]), "run.lcn");
  EXPECT_FALSE(bool(answer["was_complete"]));
  EXPECT_GT(std::uint64_t(answer["blocks"]), 0u);
  const std::uint64_t rows = answer["rows"];
  const simdjson::dom::array lost = answer["lost"];
  ASSERT_GE(lost.size(), 1u);
  for (const simdjson::dom::element part : lost) {
    EXPECT_LE(std::uint64_t(part["offset"]) + std::uint64_t(part["bytes"]),
              fs::file_size(folder_ / "run.lcn"));
    EXPECT_FALSE(std::string_view(part["what"]).empty());
  }
  ASSERT_EQ(lacuna("info --json whole.lcn"), 0);
  EXPECT_EQ(std::uint64_t(json()["rows"]), rows);

  ASSERT_EQ(lacuna("recover --json whole.lcn -o again.lcn"), 0);
  answer = json();
  EXPECT_TRUE(bool(answer["was_complete"]));
  EXPECT_EQ(simdjson::dom::array(answer["lost"]).size(), 0u);
  EXPECT_EQ(lacuna("recover --json nowhere.lcn"), 1);
  EXPECT_THAT(printed(), IsEmpty());
  EXPECT_THAT(errorText(), HasSubstr("nowhere.lcn: No such file"));
}

TEST_F(TraceFiles, RecoverReportsARecordingAsJson) {
  ASSERT_TRUE(prof::createRecording(folder_ / "run.lcn.recording", {.sharedMemory = false}).ok());
  ASSERT_EQ(lacuna("recover --json run.lcn.recording"), 0) << errorText();
  const auto answer = json();
  EXPECT_EQ(std::string_view(answer["file"]), "run.recovered.lcn");
  EXPECT_EQ(std::string_view(answer["from"]), "run.lcn.recording");
  EXPECT_FALSE(bool(answer["was_complete"]));
  for (const char* none : {"processes", "dropped_events", "damaged_records"}) {
    EXPECT_EQ(std::uint64_t(answer[none]), 0u) << none;
  }
  EXPECT_TRUE(fs::exists(folder_ / "run.recovered.lcn"));
}

TEST_F(TraceFiles, RecoverWritesNothingIntoTheFolderThatItRemoves) {
  const fs::path recording = folder_ / "run.lcn.recording";
  ASSERT_TRUE(prof::createRecording(recording, {.sharedMemory = false}).ok());
  EXPECT_EQ(lacuna("recover run.lcn.recording -o run.lcn.recording/run.lcn"), 1);
  EXPECT_THAT(errorText(), HasSubstr("run.lcn.recording/run.lcn: is in the recording"));
  EXPECT_TRUE(fs::exists(recording / "settings"));
  ASSERT_EQ(lacuna("recover --keep run.lcn.recording -o run.lcn.recording/run.lcn"), 0)
      << errorText();
  EXPECT_TRUE(fs::exists(recording / "run.lcn"));
}

TEST_F(TraceFiles, RecoverReplacesFilesAlone) {
  const fs::path recording = folder_ / "run.lcn.recording";
  ASSERT_TRUE(prof::createRecording(recording, {.sharedMemory = false}).ok());
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(lacuna("recover run.lcn.recording -o pipe"), 1);
  EXPECT_THAT(errorText(), HasSubstr("pipe: is not a file that a trace could replace"));
  EXPECT_TRUE(fs::is_fifo(folder_ / "pipe"));
  EXPECT_TRUE(fs::exists(recording / "settings"));
}

TEST_F(TraceFiles, RecoverWritesWhereALinkLeads) {
  cut(2000);
  const std::uint64_t ranges = rangesIn("run.lcn");
  fs::create_directory(folder_ / "store");
  fs::create_symlink("store/whole.lcn", folder_ / "link.lcn");
  const fs::path recording = folder_ / "run.lcn.recording";
  ASSERT_TRUE(prof::createRecording(recording, {.sharedMemory = false}).ok());
  for (const char* from : {"run.lcn", "run.lcn.recording"}) {
    EXPECT_EQ(lacuna(std::string("recover -o link.lcn ") + from), 1);
    EXPECT_THAT(errorText(), HasSubstr("cannot write link.lcn: it is a link to nothing"));
    EXPECT_TRUE(fs::is_symlink(folder_ / "link.lcn"));
    EXPECT_TRUE(fs::is_empty(folder_ / "store"));
  }
  std::ofstream(folder_ / "store" / "whole.lcn") << "old";
  ASSERT_EQ(lacuna("recover --force -o link.lcn run.lcn"), 0) << errorText();
  EXPECT_EQ(rangesIn("store/whole.lcn"), ranges);
  ASSERT_EQ(lacuna("recover --force -o link.lcn run.lcn.recording"), 0) << errorText();
  EXPECT_EQ(rangesIn("store/whole.lcn"), 0u) << "which is what the empty recording has";
  EXPECT_TRUE(fs::is_symlink(folder_ / "link.lcn"));
}

TEST_F(TraceFiles, RecoverInItsFolderWritesBesideIt) {
  ASSERT_TRUE(prof::createRecording(folder_ / "run.lcn.recording", {.sharedMemory = false}).ok());
  ASSERT_EQ(shell("recover . >../out.txt 2>../err.txt", "cd run.lcn.recording && "), 0)
      << errorText();
  EXPECT_TRUE(fs::exists(folder_ / "run.recovered.lcn"));
  EXPECT_FALSE(fs::exists(folder_ / "run.lcn.recording"));
}

TEST_F(TraceFiles, AFileOfANewerVersionIsRefused) {
  generate();
  makeNewer("run.lcn");
  for (const char* words : {"info run.lcn", "report run.lcn", "recover run.lcn"}) {
    EXPECT_EQ(lacuna(words), 1) << words;
    EXPECT_THAT(errorText(),
                testing::AllOf(HasSubstr("format version 2."), HasSubstr("use a newer lacuna")))
        << words;
    EXPECT_THAT(printed(), IsEmpty()) << words;
  }
  EXPECT_FALSE(fs::exists(folder_ / "run.recovered.lcn"));
}

TEST_F(TraceFiles, ARecordingOfANewerVersionIsRefusedAndStays) {
  const fs::path recording = folder_ / "run.lcn.recording";
  ASSERT_TRUE(prof::createRecording(recording, {.sharedMemory = false}).ok());
  std::fstream settings(recording / "settings", std::ios::in | std::ios::out | std::ios::binary);
  settings.seekp(8).put(99).flush();
  EXPECT_EQ(lacuna("recover run.lcn.recording"), 1);
  EXPECT_THAT(errorText(), testing::AllOf(HasSubstr("run.lcn.recording: a recording of version 99"),
                                          HasSubstr("use the newer lacuna that made it")));
  EXPECT_FALSE(fs::exists(folder_ / "run.recovered.lcn"));
  EXPECT_TRUE(fs::exists(recording / "settings"));
}

TEST_F(TraceFiles, AMissingFileIsNamed) {
  EXPECT_EQ(lacuna("info nowhere.lcn"), 1);
  EXPECT_THAT(errorText(), HasSubstr("nowhere.lcn: No such file"));
  EXPECT_THAT(printed(), IsEmpty());
  EXPECT_EQ(lacuna("recover nowhere.lcn -o x.lcn"), 1);
  EXPECT_THAT(errorText(), HasSubstr("nowhere.lcn"));
}

TEST_F(TraceFiles, AnotherKindOfFileIsRefused) {
  std::ofstream(folder_ / "notes.txt") << "not a trace";
  EXPECT_EQ(lacuna("info notes.txt"), 1);
  EXPECT_THAT(errorText(), HasSubstr("notes.txt: not a trace that lacuna knows"));
  std::ofstream(folder_ / "nothing.lcn");
  EXPECT_EQ(lacuna("info nothing.lcn"), 1);
  EXPECT_THAT(errorText(), HasSubstr("nothing.lcn: is empty"));
}

TEST_F(TraceFiles, WhatIsNoFileIsRefusedAtOnce) {
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  fs::create_directory(folder_ / "folder");
  for (const auto& [name, what] :
       {std::pair(
            "pipe",
            "pipe: is a pipe, not a file; write what comes out of it to a file and name that"),
        std::pair("/dev/zero", "/dev/zero: is a device, not a file; name a trace file"),
        std::pair("folder", "folder: is a folder; name a trace file")}) {
    for (const auto& [words, rest] :
         {std::pair("info ", ""), std::pair("report ", ""), std::pair("query ", " 'SELECT 1'"),
          std::pair("convert ", " -o out.json")}) {
      EXPECT_EQ(lacuna(std::string(words) + name + rest), 1) << words << name;
      EXPECT_THAT(errorText(), HasSubstr(what)) << words << name;
    }
  }
  EXPECT_EQ(lacuna("merge pipe pipe -o out.lcn"), 1);
  EXPECT_THAT(errorText(), HasSubstr("pipe: is a pipe"));
  EXPECT_FALSE(fs::exists(folder_ / "out.json") || fs::exists(folder_ / "out.lcn"));
  // A file that the shell opened is one.
  generate();
  EXPECT_EQ(shell("info /dev/stdin >out.txt 2>err.txt <run.lcn"), 0) << errorText();
  EXPECT_EQ(shell("info /dev/stdin >out.txt 2>err.txt", "cat run.lcn | "), 1);
  EXPECT_THAT(errorText(), HasSubstr("/dev/stdin: is a pipe"));
}

TEST_F(TraceFiles, AnUnwritablePlaceIsAnError) {
  EXPECT_EQ(lacuna("generate -o /proc/run.lcn --events 10"), 1);
  EXPECT_THAT(errorText(), HasSubstr("/proc/run.lcn: cannot be written"));
}

TEST_F(TraceFiles, APlaceThatHoldsNoFileIsReportedBeforeTheWorkWithARemedy) {
  generate();
  fs::create_directory(folder_ / "folder");
  std::ofstream(folder_ / "file").flush();
  const auto expect = [&](const std::string& words, const char* what) {
    EXPECT_NE(lacuna(words), 0) << words;
    EXPECT_THAT(errorText(), HasSubstr(what)) << words;
  };
  for (const char* to : {"lcn", "chrome", "nsys", "perfetto", "csv"}) {
    const std::string kind = std::string(" --to ") + to;
    expect("convert run.lcn -o folder" + kind, "folder: is a folder; name a file in it to write");
    expect("convert run.lcn -o nowhere/x" + kind,
           "nowhere/x: cannot be written: there is no folder nowhere; create it");
    expect("convert run.lcn -o file/x" + kind, "file is no folder; choose another place");
    // /proc takes no files, not even root's, and reports it only then.
    expect("convert run.lcn -o /proc/x" + kind, "/proc/x: ");
    EXPECT_THAT(errorText(), Not(HasSubstr("unfinished-"))) << to;
  }
  expect("merge run.lcn run.lcn -o folder --to lcn",
         "folder: is a folder; name a file in it to write");
  expect("generate -o folder --events 10", "is a folder");
  expect("recover run.lcn -o folder", "is a folder");
  expect("report run.lcn -o folder", "is a folder");
  expect("check run.lcn --baseline run.lcn -o folder", "is a folder");
  expect("convert run.lcn -o /dev/full --to chrome",
         "/dev/full: cannot be written: No space left on device; free some space");
}

TEST_F(TraceFiles, AFullDiskIsAnError) {
  EXPECT_EQ(lacuna("generate -o /dev/full --events 100000"), 1);
  EXPECT_THAT(errorText(), HasSubstr("No space left"));
}

TEST_F(TraceFiles, AFileSizeLimitIsAnError) {
  EXPECT_EQ(shell("generate -o run.lcn --events 300000 >out.txt 2>err.txt", "ulimit -S -f 64; "),
            1);
  EXPECT_THAT(errorText(), HasSubstr("the file size limit was reached (ulimit -f)"));
}

TEST_F(TraceFiles, OutputThatIsLostIsAnError) {
  generate();
  // Those that print little and those that print much, with and without a file.
  for (const char* words :
       {"info run.lcn", "info --json run.lcn", "query --schema", "query --csv run.lcn 'select 1'",
        "query --csv run.lcn 'select * from kernel'", "--help", "--version"}) {
    EXPECT_EQ(shell(words + std::string(" >/dev/full 2>err.txt")), 1) << words;
    EXPECT_THAT(errorText(), HasSubstr("standard output cannot be written")) << words;
  }
  EXPECT_EQ(shell("info run.lcn >&- 2>err.txt"), 1);
  EXPECT_THAT(errorText(), HasSubstr("standard output cannot be written"));
  EXPECT_EQ(shell("check run.lcn --baseline run.lcn >/dev/full 2>err.txt"), 3)
      << "which is not: worse";
  EXPECT_EQ(shell("info nowhere.lcn >/dev/full 2>/dev/full"), 1);
}

TEST_F(TraceFiles, AReaderThatHasEnoughIsNoError) {
  generate();
  EXPECT_EQ(shell("query --csv run.lcn 'select * from kernel' 2>err.txt | true"), 0);
  EXPECT_THAT(errorText(), IsEmpty());
  EXPECT_EQ(shell("query --csv run.lcn 'select * from kernel' 2>err.txt | true", "trap '' PIPE; "),
            0);
  EXPECT_THAT(errorText(), IsEmpty());
}

TEST_F(TraceFiles, AChangeOfKernelsThatAreNotThereIsAnError) {
  generate();
  EXPECT_EQ(lacuna("whatif run.lcn 'kernel:*0.5'"), 0) << errorText();
  EXPECT_EQ(lacuna("whatif run.lcn 'kernel:gmem*0.5'"), 1);
  EXPECT_THAT(errorText(), testing::AllOf(HasSubstr("'gmem'"), HasSubstr("the costliest are: ")));
  EXPECT_THAT(printed(), IsEmpty());
}

TEST_F(TraceFiles, AQueryThatFailsPrintsNothing) {
  generate();
  for (const char* sql :
       {"ATTACH 'x.db' AS y", "SELECT abs(-9223372036854775808)", "DROP TABLE kernel", "SELEKT"}) {
    for (const char* how : {"--json", "--csv", ""}) {
      EXPECT_EQ(lacuna(std::string("query run.lcn ") + how + " \"" + sql + "\""), 1) << sql << how;
      EXPECT_THAT(printed(), IsEmpty()) << sql << how;
      EXPECT_THAT(errorText(), HasSubstr("error: SQL: ")) << sql << how;
    }
  }
  ASSERT_EQ(lacuna("query run.lcn --json 'SELECT 1 AS a WHERE 0'"), 0);
  EXPECT_EQ(simdjson::dom::array(json()).size(), 0u);
  ASSERT_EQ(lacuna("query run.lcn --csv 'SELECT 1 AS a WHERE 0'"), 0);
  EXPECT_EQ(printed(), "a\n");
}

TEST_F(TraceFiles, AQueryAsJsonKeepsColumnsOfOneNameApart) {
  generate();
  ASSERT_EQ(lacuna("query run.lcn --json 'SELECT 1 AS a, 2 AS a, 3 AS a_2, 4 AS a'"), 0)
      << errorText();
  EXPECT_EQ(printed(), "[\n{\"a\": 1, \"a_3\": 2, \"a_2\": 3, \"a_4\": 4}\n]\n");
}

TEST_F(TraceFiles, AQueryPrintsInfiniteNumbersAsTextsOfJson) {
  generate();
  ASSERT_EQ(
      lacuna("query run.lcn --json 'SELECT 1e999 AS a, -1e999 AS b, 1e999 - 1e999 AS c, 1.5 AS d'"),
      0)
      << errorText();
  const simdjson::dom::element row = json().at(0);
  EXPECT_EQ(std::string_view(row["a"]), "Inf");
  EXPECT_EQ(std::string_view(row["b"]), "-Inf");
  EXPECT_TRUE(row["c"].is_null());
  EXPECT_EQ(double(row["d"]), 1.5);
}

TEST_F(TraceFiles, EveryCommandWorksInTheSandbox) {
  if (lacuna("generate -o run.lcn --steps 3"); lacuna("info run.lcn --sandbox on") != 0) {
    GTEST_SKIP() << "this kernel cannot confine: " << errorText();
  }
  for (const char* to : {"run.json", "run.json.gz", "run.pftrace", "run.sqlite", "run.folded",
                         "run.speedscope.json"}) {
    EXPECT_EQ(lacuna(std::string("convert run.lcn -q --sandbox on -o ") + to), 0) << errorText();
  }
  for (const char* file : {"run.lcn", "run.json", "run.json.gz", "run.pftrace", "run.sqlite"}) {
    EXPECT_EQ(lacuna(std::string("report --sandbox on -o page.html --force ") + file), 0)
        << errorText();
    EXPECT_EQ(lacuna(std::string("query --sandbox on ") + file + " 'SELECT count(*) FROM kernel'"),
              0)
        << errorText();
  }
  EXPECT_EQ(lacuna("whatif run.lcn --sandbox on 'kernel:*0.5'"), 0) << errorText();
  EXPECT_EQ(lacuna("diff run.lcn run.json --sandbox on"), 0) << errorText();
  EXPECT_EQ(lacuna("merge run.lcn run.json --sandbox on -o both.lcn"), 0) << errorText();
  EXPECT_EQ(lacuna("info both.lcn --sandbox perhaps"), 2);
  EXPECT_THAT(errorText(), HasSubstr("auto, on and off"));
}

TEST_F(TraceFiles, AQueryCutsLongTextsBetweenCharacters) {
  generate();
  const auto selected = [&](const std::string& text) {
    return lacuna("query run.lcn \"SELECT '" + text + "' AS name\"");
  };
  ASSERT_EQ(selected(std::string(76, 'x') + "éééééééééé"), 0) << errorText();
  EXPECT_EQ(printed(), "name\n" + std::string(76, 'x') + "...\n");
  ASSERT_EQ(selected("éé" + std::string(100, 'x')), 0) << errorText();
  EXPECT_EQ(printed(), "name\néé" + std::string(73, 'x') + "...\n");
}

TEST_F(TraceFiles, AQueryForPeopleKeepsARowOnALineWhateverANameHolds) {
  generate();
  ASSERT_EQ(lacuna("query run.lcn \"SELECT 'a' || char(10, 27) || '[2Jb' AS name\""), 0)
      << errorText();
  EXPECT_EQ(printed(), "name\na \\x1b[2Jb\n");
  ASSERT_EQ(lacuna("query run.lcn --csv \"SELECT 'a' || char(10) || 'b' AS name\""), 0)
      << errorText();
  EXPECT_EQ(printed(), "name\n\"a\nb\"\n") << "programs get it as it is";
}

TEST_F(TraceFiles, AReportKeepsNamesOnTheirLinesWhateverTheyHold) {
  std::ofstream(folder_ / "odd.json") << R"({"traceEvents": [
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 0, "dur": 1, "args": {"correlation": 1}},
{"ph": "X", "cat": "kernel", "name": "odd\n\u001b[2Jname", "pid": 0, "tid": 7, "ts": 5, "dur": 10,
 "args": {"correlation": 1, "device": 0, "stream": 7}}]})";
  ASSERT_EQ(lacuna("report odd.json"), 0) << errorText();
  EXPECT_THAT(printed(),
              testing::AllOf(HasSubstr("odd \\x1b[2Jname"), testing::Not(HasSubstr("\033"))));
}

TEST_F(TraceFiles, ACauseShowsWhenItsLongestStretchesBegin) {
  std::ofstream(folder_ / "gap.json") << R"({"traceEvents": [
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 7000000, "dur": 1, "args": {"correlation": 1}},
{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 7000005, "dur": 10,
 "args": {"correlation": 1, "device": 0, "stream": 7}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 7000100, "dur": 50, "args": {"correlation": 2}},
{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 7000155, "dur": 10,
 "args": {"correlation": 2, "device": 0, "stream": 7}}]})";
  ASSERT_EQ(lacuna("report gap.json --cause launch"), 0) << errorText();
  EXPECT_THAT(printed(),
              testing::ContainsRegex(
                  "\n longest +at +where\n 50\\.0 µs +0\\.000100 s  cudaLaunchKernel\n"));
  EXPECT_EQ(lacuna("report gap.json --width 300"), 2);
  EXPECT_THAT(errorText(), HasSubstr("--width"));
}

TEST_F(TraceFiles, MergeStatesThatItTakesAnyNumberOfTraces) {
  ASSERT_EQ(lacuna("merge --help"), 0);
  EXPECT_THAT(printed(), testing::AllOf(HasSubstr("FILES..."), testing::Not(HasSubstr("3x"))));
  EXPECT_EQ(lacuna("merge a.lcn -o b.lcn"), 2);
  EXPECT_THAT(errorText(), HasSubstr("name two traces or more"));
  EXPECT_EQ(lacuna("merge a.lcn b.lcn -o c.lcn --to nothing"), 2);
  EXPECT_THAT(errorText(), HasSubstr("--to nothing: there is no such format"));
}

TEST_F(TraceFiles, AConvertThatIsInterruptedLeavesNothing) {
  ASSERT_EQ(lacuna(kLongRun), 0);
  std::ofstream(folder_ / "out.json.gz") << "what was there";
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    const int status = interruptedConvert("out.json.gz", number);
    if (WIFEXITED(status) || isComplete("out.json.gz"))
      GTEST_SKIP() << "was over before the signal came";
    ASSERT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), number);
    EXPECT_FALSE(unfinished()) << *unfinished();
    EXPECT_EQ(read("out.json.gz"), "what was there");
  }
  // A signal that cannot be caught leaves the file; the next convert to the same name takes it
  // away, and no other's.
  const int status = interruptedConvert("out.json.gz", SIGKILL);
  if (WIFEXITED(status) || isComplete("out.json.gz"))
    GTEST_SKIP() << "was over before the signal came";
  ASSERT_TRUE(unfinished());
  const std::string living = "unfinished-" + std::to_string(::getpid()) + "-out.json.gz";
  std::ofstream(folder_ / living) << "of a process that runs";
  ASSERT_EQ(lacuna("convert --force run.lcn -o out.json.gz"), 0) << errorText();
  EXPECT_EQ(unfinished(), living);
  fs::remove(folder_ / living);
  EXPECT_FALSE(unfinished()) << *unfinished();
}

TEST_F(TraceFiles, ARecoverThatIsInterruptedLeavesNothing) {
  ASSERT_EQ(lacuna(kLongRun), 0);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    const int status = interrupted({"recover", "run.lcn", "-o", "out.lcn"}, number,
                                   [&](pid_t) { return unfinished().has_value(); });
    if (WIFEXITED(status) || fs::exists(folder_ / "out.lcn"))
      GTEST_SKIP() << "was over before the signal came";
    ASSERT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), number);
    EXPECT_FALSE(unfinished()) << *unfinished();
  }
}

TEST_F(TraceFiles, AReadThatIsKilledLeavesNothingOfWhatItUnpacked) {
  ASSERT_EQ(lacuna(kLongRun), 0);
  ASSERT_EQ(lacuna("convert -q run.lcn -o run.sqlite && gzip -1 run.sqlite"), 0) << errorText();
  const fs::path tmp = fs::canonical(folder_) / "tmp";
  fs::create_directory(tmp);
  const int nameless = open(tmp.c_str(), O_TMPFILE | O_RDWR, 0600);
  if (nameless < 0) GTEST_SKIP() << "files need names here";
  close(nameless);
  ASSERT_EQ(lacuna("info run.sqlite.gz"), 0) << errorText();
  for (const int number : {SIGKILL, SIGTERM}) {
    const int status = interrupted({"info", "run.sqlite.gz"}, number,
                                   [&](pid_t pid) { return holdsNamelessFileIn(pid, tmp); });
    if (WIFEXITED(status)) GTEST_SKIP() << "was over before the signal came";
    EXPECT_TRUE(fs::is_empty(tmp)) << *fs::directory_iterator(tmp);
  }
}

TEST_F(TraceFiles, MergeWarnsOfWhatItsTracesLack) {
  for (const char* name : {"a.json", "b.json"}) {
    std::ofstream(folder_ / name) << R"({"traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "x", "pid": 1, "tid": 1, "ts": 1, "dur": 1},
{"ph": "X", "cat": "cpu_op", "na)";
  }
  ASSERT_EQ(lacuna("merge a.json b.json -o both.lcn"), 0) << errorText();
  EXPECT_THAT(errorText(), HasSubstr("a.json: the file ends early"));
  EXPECT_THAT(errorText(), HasSubstr("b.json: the file ends early"));
}

TEST_F(TraceFiles, MergeWarnsOfARankThatIsThereTwice) {
  std::ofstream(folder_ / "a.json") << R"({"distributedInfo": {"rank": 3}, "traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "x", "pid": 1, "tid": 1, "ts": 1, "dur": 1}]})";
  fs::copy_file(folder_ / "a.json", folder_ / "b.json");
  ASSERT_EQ(lacuna("merge a.json b.json -o both.lcn"), 0) << errorText();
  EXPECT_THAT(errorText(), HasSubstr("a.json and b.json both claim to be rank 3"));
}

TEST_F(TraceFiles, ANumberBelowZeroIsRefusedInWords) {
  for (const auto& [words, option] :
       {std::pair("report run.lcn", "--rank"), std::pair("diff run.lcn run.lcn", "--rows"),
        std::pair("generate -o run.lcn", "--events"), std::pair("generate -o run.lcn", "--steps"),
        std::pair("generate -o run.lcn", "--seed")}) {
    EXPECT_EQ(lacuna(std::string(words) + " " + option + " -1"), 2) << words;
    EXPECT_THAT(errorText(), testing::AllOf(HasSubstr(std::string(option) + ": is below 0"),
                                            testing::Not(HasSubstr("00000"))));
  }
  EXPECT_FALSE(fs::exists(folder_ / "run.lcn"));
}

TEST_F(TraceFiles, FormerSpellingsOfOutputsWorkAndPrintTheNewOne) {
  generate();
  for (const char* words :
       {"report run.lcn --html ", "check run.lcn --baseline run.lcn --junit "}) {
    const std::string former = words;
    const std::string now = former.substr(0, former.rfind("--")) + "-o ";
    ASSERT_EQ(lacuna(now + "new.out --force"), 0) << errorText();
    EXPECT_THAT(errorText(), Not(HasSubstr("warning")));
    ASSERT_EQ(lacuna(former + "old.out --force"), 0) << errorText();
    const std::string option =
        former.substr(former.rfind("--"), former.rfind(' ') - former.rfind("--"));
    EXPECT_EQ(errorText(), "lacuna: warning: " + option +
                               " is now -o; a later version knows the new spelling alone\n");
    EXPECT_EQ(read("old.out"), read("new.out"));
    EXPECT_EQ(lacuna(former + "old.out -o new.out --force"), 2) << words;
  }
}

TEST_F(TraceFiles, AReportGoesIntoItsFileInTheFormThatWasAskedFor) {
  generate();
  for (const char* form : {"--json", "--csv kernels"}) {
    ASSERT_EQ(lacuna(std::string("report run.lcn ") + form), 0) << errorText();
    const std::string text = printed();
    ASSERT_EQ(lacuna(std::string("report run.lcn --force -o out ") + form), 0) << errorText();
    EXPECT_EQ(read("out"), text);
    EXPECT_THAT(printed(), HasSubstr("out: "));
  }
  ASSERT_EQ(lacuna("report run.lcn --force -o out"), 0) << errorText();
  EXPECT_THAT(read("out"), HasSubstr("<html"));
}

TEST_F(TraceFiles, APageNeverReplacesTheTraceThatItIsOf) {
  generate();
  const std::string before = read("run.lcn");
  EXPECT_EQ(lacuna("report run.lcn -o ./run.lcn"), 1);
  EXPECT_THAT(errorText(), HasSubstr("./run.lcn: is the same file as run.lcn, which is read"));
  EXPECT_EQ(lacuna("check run.lcn --baseline run.lcn -o ./run.lcn"), 3);
  EXPECT_THAT(errorText(), HasSubstr("run.lcn: is the same file as run.lcn, which is read"));
  EXPECT_EQ(read("run.lcn"), before);
  fs::copy_file(folder_ / "run.lcn", folder_ / "noise.lcn");
  EXPECT_EQ(lacuna("check run.lcn --baseline run.lcn --noise noise.lcn -o noise.lcn"), 3);
  EXPECT_THAT(errorText(), HasSubstr("noise.lcn: is read by this command"));
  EXPECT_EQ(read("noise.lcn"), before);
}

TEST_F(TraceFiles, ARawCaptureIsNeverReplacedByItsTrace) {
  const fs::path capture = folder_ / "cupti-1.raw";
  fs::copy_file(LACUNA_TEST_DATA "/cupti/every-kind/cupti-1.raw", capture);
  const std::string before = read("cupti-1.raw");
  ASSERT_FALSE(before.empty());
  EXPECT_EQ(lacuna("convert cupti-1.raw -o cupti-1.raw --to lcn"), 1);
  EXPECT_EQ(lacuna("convert . -o cupti-1.raw --to lcn"), 1);
  EXPECT_EQ(read("cupti-1.raw"), before);
}

TEST_F(TraceFiles, ATraceWithoutEventsIsNotGenerated) {
  EXPECT_EQ(lacuna("generate -o run.lcn --events 0"), 2);
  EXPECT_THAT(errorText(), HasSubstr("--events 0 would be a trace without events"));
  EXPECT_FALSE(fs::exists(folder_ / "run.lcn"));
  ASSERT_EQ(lacuna("generate -o run.lcn --events 0 --steps 1"), 0) << errorText();
  EXPECT_THAT(printed(), HasSubstr(" events in 1 step"));
}

TEST_F(TraceFiles, AWordThatNoTraceCouldMakeRightIsMisuse) {
  generate();
  for (const auto& [words, what] :
       {std::pair("report run.lcn --section poems", "there is no such section"),
        std::pair("report run.lcn --cause laziness", "there is no such cause"),
        std::pair("report run.lcn --steps many", "expected A:B"),
        std::pair("whatif run.lcn colour=red", "colour"),
        std::pair("convert run.lcn -o out.poem", "name what to write with --to"),
        std::pair("convert run.lcn -o out.pb", "or by the file's ending: .lcn, .json, .pftrace"),
        std::pair("convert run.lcn -o out.lcn --to poem",
                  "--to poem: there is no such format; there are: lcn, chrome")}) {
    EXPECT_EQ(lacuna(words), 2) << words;
    EXPECT_THAT(errorText(), HasSubstr(what)) << words;
    EXPECT_THAT(printed(), IsEmpty()) << words;
  }
  // A mistake that depends on the trace is no misuse.
  EXPECT_EQ(lacuna("report run.lcn --device cuda:99"), 1);
  EXPECT_EQ(lacuna("report run.lcn --steps 5000:5001"), 1);
}

TEST_F(TraceFiles, SectionsAndCausesMayBeSeveral) {
  generate();
  for (const char* words :
       {"report run.lcn --section kernels,launches", "report --section kernels,launches run.lcn",
        "report run.lcn --section kernels --section launches"}) {
    ASSERT_EQ(lacuna(words), 0) << words << errorText();
    EXPECT_THAT(printed(), testing::AllOf(testing::StartsWith("\nKernels\n"),
                                          HasSubstr("\nLaunches\n"), Not(HasSubstr("Findings"))))
        << words;
  }
  ASSERT_EQ(lacuna("report run.lcn --cause launch,host_work"), 0) << errorText();
  EXPECT_THAT(printed(),
              testing::AllOf(testing::StartsWith("launch-bound: "), HasSubstr("\nhost work: ")));
  EXPECT_EQ(lacuna("report run.lcn --section kernels,poems"), 2);
  EXPECT_THAT(
      errorText(),
      HasSubstr(
          "--section poems: there is no such section; there are: all, summary, ledger, causes"));
  EXPECT_EQ(lacuna("report run.lcn --cause launch,laziness"), 2);
  EXPECT_THAT(errorText(),
              HasSubstr("--cause laziness: there is no such cause; there are: compute"));
  EXPECT_EQ(lacuna("report run.lcn --section ''"), 2);
}

TEST_F(TraceFiles, OptionsOfWhichOneWouldDoNothingExcludeEachOther) {
  generate();
  for (const char* words :
       {"report run.lcn --json --section kernels", "report run.lcn --json --cause compute",
        "report run.lcn --cause compute --section kernels",
        "query run.lcn 'SELECT 1' --csv --json"}) {
    EXPECT_EQ(lacuna(words), 2) << words;
    EXPECT_THAT(errorText(),
                testing::AllOf(HasSubstr(" excludes --"), HasSubstr("leave one of the two out")))
        << words;
    EXPECT_THAT(printed(), IsEmpty()) << words;
  }
  EXPECT_EQ(lacuna("convert run.lcn -o out.json --table range"), 2);
  EXPECT_THAT(errorText(), HasSubstr("--table range is for csv and table-json"));
  EXPECT_FALSE(fs::exists(folder_ / "out.json"));
  EXPECT_EQ(lacuna("convert -q run.lcn -o out.csv --table range"), 0) << errorText();
}

TEST_F(TraceFiles, EveryCommandStatesItsPurposeItsExitCodesAndItsUse) {
  ASSERT_EQ(lacuna("--help"), 0);
  std::istringstream lines(printed());
  std::string line;
  while (std::getline(lines, line) && line != "Subcommands:" && line != "SUBCOMMANDS:") {
  }
  int commands = 0;
  while (std::getline(lines, line) && line.starts_with("  ")) {
    const std::string name = line.substr(2, line.find(' ', 2) - 2);
    if (name.empty()) continue;  // the rest of the line above
    ++commands;
    ASSERT_EQ(lacuna(name + " --help"), 0) << name;
    EXPECT_THAT(printed(),
                testing::AllOf(HasSubstr("Usage: "), HasSubstr("\nExample: lacuna " + name)))
        << name;
    if (name != "gui") {
      EXPECT_THAT(printed(), HasSubstr("\nExit code")) << name;
    }
  }
  EXPECT_GE(commands, 11);
}

TEST_F(TraceFiles, EveryCommandRefusesWhatIsNoUseInEveryForm) {
  ASSERT_EQ(lacuna("generate -o run.lcn --events 5000"), 0) << errorText();
  std::ofstream(folder_ / "notes.txt") << "not a trace";
  std::ofstream(folder_ / "nothing.lcn").close();
  std::ofstream(folder_ / "none.json") << R"({"traceEvents": []})";
  const std::pair<const char*, const char*> useless[] = {
      {"notes.txt", "notes.txt: not a trace"},
      {"nothing.lcn", "nothing.lcn: is empty"},
      {"none.json", "none.json: the trace has no events"}};
  for (const auto& [file, why] : useless) {
    for (const std::string words :
         {"report @", "report @ --json", "report @ -o page.html", "whatif @ sync=off",
          "whatif @ sync=off --json", "query @ 'SELECT 1'", "query @ 'SELECT 1' --json",
          "convert @ -o out.json", "merge @ run.lcn -o out.lcn", "merge run.lcn @ -o out.lcn",
          "diff @ run.lcn", "diff run.lcn @ --json", "check @ --baseline run.lcn",
          "check run.lcn --baseline @ -o result.xml"}) {
      std::string command = words;
      command.replace(command.find('@'), 1, file);
      const int exit = lacuna(command);
      EXPECT_EQ(exit, words.starts_with("check") ? 3 : 1) << command;
      EXPECT_THAT(errorText(), HasSubstr(why)) << command;
      EXPECT_THAT(printed(), IsEmpty()) << command;
    }
  }
  for (const char* written : {"page.html", "out.json", "out.lcn", "result.xml"})
    EXPECT_FALSE(fs::exists(folder_ / written)) << written;
}

TEST_F(TraceFiles, ATraceWithoutADeviceIsReportedSo) {
  std::ofstream(folder_ / "host.json")
      << R"({"traceEvents": [{"ph": "X", "cat": "user_annotation", "name": "load", "pid": 1, "tid": 1, "ts": 1, "dur": 5}]})";
  ASSERT_EQ(lacuna("report host.json"), 0) << errorText();
  EXPECT_THAT(printed(), HasSubstr("No device did any work in this trace, so there is no ledger"));
  ASSERT_EQ(lacuna("report host.json --json"), 0) << errorText();
  EXPECT_THAT(printed(), HasSubstr("\"bound_by\": \"nothing\""));
  EXPECT_EQ(lacuna("report host.json --device cuda:0"), 1);
  EXPECT_THAT(errorText(), HasSubstr("no device did any work here, so --device selects nothing"));
  EXPECT_EQ(lacuna("whatif host.json sync=off"), 1);
  EXPECT_THAT(errorText(),
              HasSubstr("no device did any work in this trace, so there is nothing to replay"));
}

TEST_F(TraceFiles, MisuseNamesThePageToRead) {
  EXPECT_EQ(lacuna("info"), 2);
  EXPECT_THAT(errorText(), HasSubstr("(see `lacuna info --help`)"));
  EXPECT_EQ(lacuna("--frobnicate"), 2);
  EXPECT_THAT(errorText(), HasSubstr("(see `lacuna --help`)"));
}

TEST_F(TraceFiles, HelpAndVersionHaveShortForms) {
  ASSERT_EQ(lacuna("report --help"), 0);
  const std::string help = printed();
  EXPECT_EQ(lacuna("help report"), 0);
  EXPECT_EQ(printed(), help);
  EXPECT_EQ(lacuna("help"), 0);
  EXPECT_THAT(printed(), HasSubstr("recover"));
  EXPECT_EQ(lacuna("help reprot"), 2);
  EXPECT_THAT(errorText(), HasSubstr("did you mean 'report'?"));
  EXPECT_EQ(lacuna("-V"), 0);
  EXPECT_THAT(printed(), testing::StartsWith("lacuna "));
}

TEST_F(TraceFiles, AMisspeltWordHasTheNearestOne) {
  generate();
  for (const auto& [words, meant] : {std::pair("report run.lcn --jsno", "'--json'"),
                                     std::pair("info --verfy=1 run.lcn", "'--verify'"),
                                     std::pair("report run.lcn --section memroy", "'memory'"),
                                     std::pair("manual reprot", "'report'")}) {
    EXPECT_EQ(lacuna(words), 2) << words;
    EXPECT_THAT(errorText(), HasSubstr(std::string("did you mean ") + meant)) << words;
  }
  EXPECT_EQ(lacuna("info run.lcn other.lcn"), 2);
  EXPECT_THAT(errorText(), HasSubstr("'other.lcn' is a word too many (see `lacuna info --help`)"));
}

TEST_F(TraceFiles, AllSectionsHaveOneName) {
  generate();
  ASSERT_EQ(lacuna("report run.lcn --section all"), 0) << errorText();
  EXPECT_THAT(printed(), testing::AllOf(HasSubstr("\nKernels\n"), HasSubstr("\nCopies\n"),
                                        HasSubstr("\nEfficiency\n")));
}

TEST_F(TraceFiles, MisuseExitsWithTwo) {
  EXPECT_EQ(lacuna("info"), 2);
  EXPECT_EQ(lacuna("info --frobnicate x.lcn"), 2);
  EXPECT_EQ(lacuna("frobnicate"), 2);
  EXPECT_THAT(errorText(), HasSubstr("there is no command 'frobnicate'. `lacuna --help`"));
  EXPECT_EQ(lacuna("ifno x.lcn"), 2);
  EXPECT_THAT(errorText(), HasSubstr("did you mean 'info'?"));
  EXPECT_EQ(lacuna(""), 2);
  EXPECT_THAT(errorText(), HasSubstr("recover"));
}

}  // namespace
}  // namespace lacuna
