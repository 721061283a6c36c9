// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "python/frame_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "image.h"
#include "python/layout.h"
#include "python/memory.h"
#include "support/temp_dir.h"

namespace lacuna::collector::python {
namespace {

using testing::IsEmpty;

namespace fs = std::filesystem;

std::string contentOf(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Gives functions numbers, as the supervisor does.
class Functions {
 public:
  NumberOf numberOf() {
    return [this](const std::string& function, const std::string& file) {
      if (function == "__init__" && file == "__init__") return std::uint32_t{0};
      names_.emplace_back(function, file);
      return static_cast<std::uint32_t>(names_.size());
    };
  }
  Places places(const std::vector<ThreadStack>& stacks) const {
    Places places;
    for (const ThreadStack& stack : stacks) {
      for (const Frame& frame : stack.frames) {
        if (frame.function == 0) continue;
        const auto& [function, file] = names_[frame.function - 1];
        places[stack.tid].push_back({function, frame.line, file});
      }
    }
    return places;
  }

 private:
  std::vector<std::pair<std::string, std::string>> names_;
};

/// places.py under some Python, standing still.
class StandingProgram {
 public:
  explicit StandingProgram(const std::string& python, const fs::path& folder) {
    // Away from where the sources lie: what is kept of it names its files.
    const fs::path script = folder / "places.py", announcements = folder / "announced";
    fs::copy_file(LACUNA_PLACES, script);
    fs::create_directory(announcements);
    std::array<int, 2> in{}, out{};
    if (pipe(in.data()) != 0 || pipe(out.data()) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      dup2(in[0], 0);
      dup2(out[1], 1);
      close(in[1]);
      close(out[0]);
      execlp(python.c_str(), python.c_str(), "-B", script.c_str(), LACUNA_HOOK,
             announcements.c_str(), nullptr);
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    input_ = in[1];
    std::array<char, 4096> buffer{};
    while (truth_.find("end\n") == std::string::npos) {
      const ssize_t got = ::read(out[0], buffer.data(), buffer.size());
      if (got <= 0) break;
      truth_.append(buffer.data(), static_cast<std::size_t>(got));
    }
    close(out[0]);
    const auto end = truth_.find("end\n");
    stands_ = end != std::string::npos;
    truth_.resize(stands_ ? end : 0);
    for (const auto& entry : fs::directory_iterator(announcements))
      announcement_ = contentOf(entry.path());
  }
  StandingProgram(const StandingProgram&) = delete;
  StandingProgram& operator=(const StandingProgram&) = delete;
  ~StandingProgram() {
    if (input_ >= 0) close(input_);
    if (pid_ > 0) waitpid(pid_, nullptr, 0);
  }
  [[nodiscard]] bool stands() const { return stands_; }
  [[nodiscard]] int pid() const { return pid_; }
  [[nodiscard]] Image image() const { return {announcement_, truth_, {}}; }

 private:
  int pid_ = -1, input_ = -1;
  bool stands_ = false;
  std::string truth_, announcement_;
};

/// The truth leaves out the thread that wrote it, which may still be there.
void expectTruth(const Image& image, Places read) {
  const Places truth = image.places();
  ASSERT_EQ(truth.size(), 2u);
  std::erase_if(read, [&](const auto& entry) { return !truth.contains(entry.first); });
  ASSERT_EQ(read.size(), truth.size());
  for (const auto& [tid, places] : truth) {
    ASSERT_EQ(read[tid].size(), places.size());
    for (std::size_t i = 0; i < places.size(); ++i) {
      EXPECT_EQ(read[tid][i].function, places[i].function) << "frame " << i;
      EXPECT_EQ(read[tid][i].line, places[i].line) << "in " << places[i].function;
      EXPECT_EQ(read[tid][i].file, places[i].file);
    }
  }
}

class ImageTest : public testing::TestWithParam<const char*> {
 protected:
  static Image image() {
    return Image::parse(
        contentOf(fs::path(LACUNA_IMAGES) / ("python" + std::string(GetParam()) + ".txt")));
  }
};

TEST_P(ImageTest, HasTheFramesThatTheInterpreterItselfFound) {
  const Image image = ImageTest::image();
  const auto layout = parseLayout(image.announcement);
  ASSERT_TRUE(layout);
  ImageMemory memory(image.pieces);
  Functions functions;
  FrameReader reader(*layout, memory, functions.numberOf());
  std::vector<ThreadStack> stacks;
  ASSERT_TRUE(reader.read(stacks));
  EXPECT_EQ(reader.torn(), 0u);
  expectTruth(image, functions.places(stacks));
}

TEST_P(ImageTest, DamagedBytesGiveNoMoreFramesThanThereMayBeAndEnd) {
  const Image image = ImageTest::image();
  const auto layout = parseLayout(image.announcement);
  ASSERT_TRUE(layout);
  std::mt19937 random(7);
  std::uint64_t torn = 0;
  for (int round = 0; round < 400; ++round) {
    ImageMemory memory(image.pieces);
    for (auto& [address, bytes] : memory.pieces()) {
      if (bytes.empty() || random() % 4 != 0) continue;
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    Functions functions;
    FrameReader reader(*layout, memory, functions.numberOf());
    std::vector<ThreadStack> stacks;
    reader.read(stacks);
    torn += reader.torn();
    for (const ThreadStack& stack : stacks) ASSERT_LE(stack.frames.size(), kMostFrames);
  }
  EXPECT_GT(torn, 100u) << "damage goes unnoticed";
}

TEST_P(ImageTest, FramesThatLeadInACircleEnd) {
  const Image image = ImageTest::image();
  const auto layout = parseLayout(image.announcement);
  ASSERT_TRUE(layout);
  ImageMemory plain(image.pieces);
  std::uint64_t thread = 0, frame = 0, caller = 0, callers = 0;
  ASSERT_TRUE(plain.get(layout->interpreter + layout->thread.threads, thread));
  while (thread != 0) {
    ASSERT_TRUE(plain.get(thread + layout->thread.cframe.value_or(layout->thread.frame.value_or(0)),
                          frame));
    ASSERT_TRUE(!layout->thread.cframe || plain.get(frame + layout->thread.cframeFrame, frame));
    ASSERT_TRUE(plain.get(thread + layout->thread.next, thread));
  }
  // In the program's first thread the caller's caller of the frame becomes the frame itself.
  ASSERT_TRUE(plain.get(frame + layout->frame.back, caller));
  ASSERT_TRUE(plain.get(caller + layout->frame.back, callers));
  for (auto& [address, bytes] : plain.pieces()) {
    for (std::size_t at = 0; at + 8 <= bytes.size(); ++at) {
      if (address + at == caller + layout->frame.back)
        bytes.replace(at, 8, reinterpret_cast<const char*>(&frame), 8);
    }
  }
  Functions functions;
  FrameReader reader(*layout, plain, functions.numberOf());
  std::vector<ThreadStack> stacks;
  EXPECT_TRUE(reader.read(stacks));
  for (const ThreadStack& stack : stacks) EXPECT_LE(stack.frames.size(), kMostFrames);
}

TEST_P(ImageTest, AnotherTypeOfCodeIsNoCode) {
  const Image image = ImageTest::image();
  auto layout = parseLayout(image.announcement);
  ASSERT_TRUE(layout);
  layout->codeType += 8;
  ImageMemory memory(image.pieces);
  Functions functions;
  FrameReader reader(*layout, memory, functions.numberOf());
  std::vector<ThreadStack> stacks;
  EXPECT_TRUE(reader.read(stacks));
  EXPECT_THAT(stacks, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Versions, ImageTest,
                         testing::Values("3.9", "3.10", "3.11", "3.12", "3.13"));

/// The images are made by this: LACUNA_WRITE_IMAGES="3.9=/path/of/python3.9 3.10=…" runs it with
/// each of them.
TEST(ImageMaker, WritesWhatIsReadOfAProgramThatStandsStill) {
  const char* wanted = std::getenv("LACUNA_WRITE_IMAGES");
  if (wanted == nullptr) GTEST_SKIP() << "LACUNA_WRITE_IMAGES names no Python";
  std::istringstream words(wanted);
  for (std::string word; words >> word;) {
    const auto sign = word.find('=');
    const test::TempDir folder;
    const StandingProgram program(word.substr(sign + 1), folder.path());
    ASSERT_TRUE(program.stands());
    Image image = program.image();
    const auto layout = parseLayout(image.announcement);
    ASSERT_TRUE(layout) << image.announcement;
    ProcessMemory memory(program.pid());
    KeepingMemory keeping(memory);
    Functions functions;
    FrameReader reader(*layout, keeping, functions.numberOf());
    std::vector<ThreadStack> stacks;
    ASSERT_TRUE(reader.read(stacks));
    image.pieces = keeping.pieces();
    std::ofstream(fs::path(LACUNA_IMAGES) / ("python" + word.substr(0, sign) + ".txt"))
        << image.text();
  }
}

TEST(FrameReader, ReadsARunningProgramWithThePythonOfThisMachine) {
  const test::TempDir folder;
  const StandingProgram program("python3", folder.path());
  if (!program.stands()) GTEST_SKIP() << "python3 is not here";
  const Image image = program.image();
  const auto layout = parseLayout(image.announcement);
  ASSERT_TRUE(layout) << "it announced: " << image.announcement;
  ProcessMemory memory(program.pid());
  Functions functions;
  FrameReader reader(*layout, memory, functions.numberOf());
  for (int i = 0; i < 3; ++i) {
    std::vector<ThreadStack> stacks;
    ASSERT_TRUE(reader.read(stacks));
    expectTruth(image, functions.places(stacks));
  }
}

TEST(FrameReader, AProcessThatIsGoneCannotBeRead) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  ProcessMemory memory(child);
  const Layout layout = *parseLayout(
      Image::parse(contentOf(fs::path(LACUNA_IMAGES) / "python3.11.txt")).announcement);
  Functions functions;
  FrameReader reader(layout, memory, functions.numberOf());
  std::vector<ThreadStack> stacks;
  EXPECT_FALSE(reader.read(stacks));
  EXPECT_EQ(memory.error(), ESRCH);
}

}  // namespace
}  // namespace lacuna::collector::python
