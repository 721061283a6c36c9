// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

// The files that commands write to: never a file that is there, unless --force is given, and never
// a file that they read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/prof/recording.h"
#include "support/programs.h"
#include "support/temp_dir.h"

namespace lacuna {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

/// One call of a command that writes a file: `@` is the file's name.
struct Writing {
  const char* words;
  int refusal;  ///< the exit code where the file is in the way
};

constexpr std::array kWritings = {
    Writing{"convert a.lcn -o @ --to chrome", 1},
    Writing{"convert a.lcn -o @ --to lcn", 1},
    Writing{"convert a.lcn -o @ --to nsys", 1},
    Writing{"convert capture -o @ --to lcn", 1},
    Writing{"merge a.lcn b.lcn -o @ --to lcn", 1},
    Writing{"generate -o @ --events 100", 1},
    Writing{"recover a.lcn -o @", 1},
    Writing{"recover --keep run.recording -o @", 1},
    Writing{"report a.lcn -o @", 1},
    Writing{"check a.lcn --baseline b.lcn -o @", 3},
    Writing{"calibrate --python /nonexistent -o @", 1},
};

class OutputFiles : public testing::Test {
 protected:
  OutputFiles() {
    EXPECT_EQ(lacuna("generate -o a.lcn --steps 4 --seed 1"), 0) << errorText();
    EXPECT_EQ(lacuna("generate -o b.lcn --steps 4 --seed 2"), 0) << errorText();
    EXPECT_TRUE(prof::createRecording(dir_ / "run.recording", {.sharedMemory = false}).ok());
    fs::create_directory(dir_ / "capture");
    fs::copy_file(LACUNA_TEST_DATA "/cupti/every-kind/cupti-1.raw",
                  dir_ / "capture" / "cupti-1.raw");
  }

  int shell(const std::string& words, const std::string& behind = ">out.txt 2>err.txt") {
    const std::string call = test::program("lacuna") + " " + words + " </dev/null " + behind;
    const int status =
        std::system(("cd '" + dir_.path().string() + "' || exit; timeout 60 " + call).c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  int lacuna(const std::string& words) { return shell(words); }
  int lacuna(const Writing& writing, const std::string& file, const std::string& more = "") {
    std::string words = writing.words;
    words.replace(words.find('@'), 1, file);
    return shell(words + " " + more);
  }
  void put(const std::string& name, const std::string& text) { std::ofstream(dir_ / name) << text; }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream file(dir_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  [[nodiscard]] std::string errorText() const { return read("err.txt"); }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(dir_.path()), fs::directory_iterator()));
  }

  test::TempDir dir_;
};

TEST_F(OutputFiles, NoCommandReplacesAFileUnasked) {
  put("precious", "of years");
  for (const Writing& writing : kWritings) {
    const std::size_t before = files();
    EXPECT_EQ(lacuna(writing, "precious"), writing.refusal) << writing.words;
    EXPECT_THAT(
        errorText(),
        HasSubstr("precious: is there already; give --force to replace it or choose another name"))
        << writing.words;
    EXPECT_EQ(read("precious"), "of years") << writing.words;
    EXPECT_THAT(read("out.txt"), IsEmpty()) << writing.words;
    EXPECT_EQ(files(), before) << writing.words;
  }
}

TEST_F(OutputFiles, ForceReplacesAFileByACompleteOne) {
  for (const Writing& writing : kWritings) {
    const std::string_view words = writing.words;
    // One goes on to its Python, the other needs the CUDA toolkit's headers.
    if (words.starts_with("calibrate") || words.starts_with("convert capture")) continue;
    put("old", "of years");
    fs::create_hard_link(dir_ / "old", dir_ / "kept");
    EXPECT_EQ(lacuna(writing, "old", "--force"), 0) << writing.words << errorText();
    EXPECT_NE(read("old"), "of years") << writing.words;
    EXPECT_EQ(read("kept"), "of years") << writing.words << ": it was written into, not replaced";
    fs::remove(dir_ / "kept");
  }
}

TEST_F(OutputFiles, AFileThatIsReadIsNeverWritten) {
  fs::create_directory(dir_ / "sub");
  fs::create_hard_link(dir_ / "a.lcn", dir_ / "hard.lcn");
  fs::create_symlink("a.lcn", dir_ / "soft.lcn");
  const std::string before = read("a.lcn");
  for (const Writing& writing : kWritings) {
    if (std::string_view(writing.words).find(" a.lcn") == std::string_view::npos) continue;
    for (const char* spelling : {"a.lcn", "./a.lcn", "sub/../a.lcn", "hard.lcn", "soft.lcn"}) {
      EXPECT_EQ(lacuna(writing, spelling, "--force"), writing.refusal) << writing.words << spelling;
      EXPECT_THAT(errorText(), AllOf(HasSubstr(std::string(spelling) + ": is "),
                                     HasSubstr("name another file to write")))
          << writing.words;
      EXPECT_EQ(read("a.lcn"), before) << writing.words << spelling;
    }
  }
  EXPECT_EQ(lacuna("merge b.lcn a.lcn --force -o hard.lcn"), 1) << "the second of the inputs";
  EXPECT_EQ(lacuna("convert capture -o capture/cupti-1.raw --to lcn --force"), 1)
      << "a file of a folder that is read";
  EXPECT_THAT(errorText(), HasSubstr("capture/cupti-1.raw: is in capture, which is read"));
}

TEST_F(OutputFiles, TheFormerSpellingIsRefusedWithTheNewOne) {
  put("c.lcn", "of years");
  for (const auto& [words, remedy] :
       {std::pair("merge a.lcn b.lcn c.lcn", "lacuna merge a.lcn b.lcn -o c.lcn"),
        std::pair("merge a.lcn b.lcn", "lacuna merge a.lcn b.lcn -o OUT.lcn"),
        std::pair("convert a.lcn c.lcn", "lacuna convert a.lcn -o c.lcn"),
        std::pair("convert a.lcn new.lcn", "lacuna convert a.lcn -o new.lcn"),
        std::pair("convert a.lcn", "lacuna convert a.lcn -o OUT.lcn"),
        std::pair("recover a.lcn new.lcn", "lacuna recover a.lcn -o new.lcn"),
        std::pair("generate new.lcn", "lacuna generate -o new.lcn")}) {
    EXPECT_EQ(lacuna(words), 2) << words;
    EXPECT_THAT(errorText(), HasSubstr(remedy)) << words;
  }
  EXPECT_EQ(read("c.lcn"), "of years");
  EXPECT_FALSE(fs::exists(dir_ / "new.lcn"));
}

TEST_F(OutputFiles, ForceWithoutAFileToWriteIsMisuse) {
  for (const char* words : {"report a.lcn --force", "check a.lcn --baseline b.lcn --force"}) {
    EXPECT_EQ(lacuna(words), 2) << words;
    EXPECT_THAT(errorText(), HasSubstr("--force is for the file that -o writes")) << words;
  }
}

TEST_F(OutputFiles, ALinkLeadsToWhatIsReplacedAndStays) {
  put("target.json", "of years");
  fs::create_symlink("target.json", dir_ / "link.json");
  EXPECT_EQ(lacuna("convert a.lcn -o link.json"), 1);
  EXPECT_EQ(read("target.json"), "of years");
  EXPECT_EQ(lacuna("convert a.lcn -o link.json --force"), 0) << errorText();
  EXPECT_TRUE(fs::is_symlink(dir_ / "link.json"));
  EXPECT_THAT(read("target.json"), HasSubstr("traceEvents"));
  fs::create_symlink("nothing.json", dir_ / "broken.json");
  for (const char* force : {"", " --force"}) {
    EXPECT_EQ(lacuna(std::string("convert a.lcn -o broken.json") + force), 1);
    EXPECT_THAT(errorText(), HasSubstr("broken.json: it is a link to nothing; name another file"));
  }
}

TEST_F(OutputFiles, DevicesPipesAndOpenFilesAreInNobodysWay) {
  EXPECT_EQ(lacuna("convert -q a.lcn -o /dev/null --to chrome"), 0) << errorText();
  EXPECT_EQ(lacuna("generate -o /dev/null --events 100"), 0) << errorText();
  EXPECT_EQ(shell("convert -q a.lcn -o /dev/stdout --to folded", "2>err.txt >got.txt"), 0)
      << errorText();
  const std::string stacks = read("got.txt");
  EXPECT_THAT(stacks, testing::StartsWith("loader worker 0;")) << "nothing but the stacks";
  EXPECT_EQ(shell("convert -q a.lcn -o /dev/stdout --to folded", "2>err.txt | cat >got.txt"), 0)
      << errorText();
  EXPECT_EQ(read("got.txt"), stacks);
  ASSERT_EQ(::mkfifo((dir_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(shell("convert -q a.lcn -o pipe --to folded",
                  ">out.txt 2>err.txt & cat pipe >got.txt; wait $!"),
            0);
  EXPECT_EQ(read("got.txt"), stacks);
  EXPECT_TRUE(fs::is_fifo(dir_ / "pipe"));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(OutputFiles, AFileThatTheShellAppendsToKeepsWhatItHas) {
  put("log.txt", "of years\n");
  EXPECT_EQ(shell("convert -q a.lcn -o /dev/stdout --to folded", "2>err.txt >>log.txt"), 1);
  EXPECT_THAT(errorText(), HasSubstr("/dev/stdout: is there already"));
  EXPECT_EQ(read("log.txt"), "of years\n");
}

#ifdef LACUNA_HAS_COLLECTOR
TEST_F(OutputFiles, ARunRefusesAFileThatIsThereBeforeItStartsTheProgram) {
  put("old.lcn", "of years");
  EXPECT_EQ(lacuna("run -q -o old.lcn -- touch started"), 127);
  EXPECT_THAT(
      errorText(),
      HasSubstr("old.lcn: is there already; give --force to replace it or choose another name"));
  EXPECT_EQ(read("old.lcn"), "of years");
  EXPECT_FALSE(fs::exists(dir_ / "started"));
  EXPECT_FALSE(fs::exists(dir_ / "old.lcn.recording"));
  EXPECT_EQ(lacuna("run -q --force -o old.lcn -- touch started"), 0) << errorText();
  EXPECT_TRUE(fs::exists(dir_ / "started"));
  EXPECT_NE(read("old.lcn"), "of years");
}

TEST_F(OutputFiles, ARunWithoutANameTakesOneThatIsFree) {
  put("true.lcn", "of years");
  EXPECT_EQ(lacuna("run -q -- true"), 0) << errorText();
  EXPECT_EQ(read("true.lcn"), "of years");
  EXPECT_TRUE(fs::exists(dir_ / "true-2.lcn"));
}
#endif

}  // namespace
}  // namespace lacuna
