// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <sstream>

#include "lacuna/runtime/serialize.h"
#include "support/sanitizer.h"

namespace lacuna::rt {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

class Safetensors : public testing::Test {
 protected:
  void SetUp() override {
    path_ = fs::path(testing::TempDir()) / ("tensors_" + std::to_string(::getpid()));
  }
  void TearDown() override { fs::remove(path_); }

  [[nodiscard]] std::string bytes() const {
    std::stringstream text;
    text << std::ifstream(path_, std::ios::binary).rdbuf();
    return text.str();
  }
  void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }
  /// A file with this JSON header and this many bytes of data.
  void writeFile(const std::string& header, std::size_t dataBytes) const {
    std::string length(8, '\0');
    for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(header.size() >> (8 * i));
    write(length + header + std::string(dataBytes, 'x'));
  }
  [[nodiscard]] std::string refusal() const {
    try {
      (void)loadTensors(path_);
    } catch (const Error& error) {
      return error.what();
    }
    return "(accepted)";
  }

  fs::path path_;
};

TEST_F(Safetensors, GivesBackEveryTypeShapeAndTheMetadata) {
  TensorMap tensors{{"weight", fromVector<float>({1, 2, 3, 4, 5, 6}, {2, 3})},
                    {"strided", fromVector<float>({1, 2, 3, 4}, {2, 2}).t()},
                    {"empty", zeros({0, 4})},
                    {"scalar", scalar(2.5, {DType::F64})},
                    {"half", ones({3}, {DType::BF16})},
                    {"flags", zeros({2}, {DType::Bool})},
                    {"quote\" and \\ and \n", fromVector<std::int64_t>({-7}, {1})}};
  saveTensors(path_, tensors, {{"format", "lacuna"}});
  const LoadedTensors loaded = loadTensors(path_);
  ASSERT_EQ(loaded.tensors.size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    const Tensor& got = loaded.tensors.at(name);
    EXPECT_EQ(got.shape(), tensor.shape()) << name;
    EXPECT_EQ(got.dtype(), tensor.dtype()) << name;
    EXPECT_EQ(got.toVector<double>(), tensor.toVector<double>()) << name;
  }
  EXPECT_EQ(loaded.metadata, (Metadata{{"format", "lacuna"}}));
}

TEST_F(Safetensors, WritesTheDocumentedLayout) {
  saveTensors(path_, {{"a", fromVector<std::uint8_t>({1, 2}, {2})}});
  const std::string file = bytes();
  EXPECT_EQ(static_cast<std::size_t>(file[0]) % 8, 0u) << "data is aligned";
  EXPECT_THAT(file, HasSubstr(R"("a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]})"));
  EXPECT_EQ(file.substr(file.size() - 2), "\x01\x02");
}

TEST_F(Safetensors, RefusesEveryTruncation) {
  saveTensors(path_, {{"a", ones({5})}, {"b", ones({3, 3})}});
  const std::string full = bytes();
  for (std::size_t length = 0; length < full.size(); ++length) {
    write(full.substr(0, length));
    EXPECT_NE(refusal(), "(accepted)") << length;
  }
}

TEST_F(Safetensors, RefusesEveryFlippedBitAndNamesTheTensor) {
  saveTensors(path_,
              {{"first", fromVector<float>({1, 2, 3}, {3})},
               {"none", zeros({0, 4})},
               {"second", fromVector<std::int64_t>({-7}, {})},
               {"third", fromVector<bool>({true, false, true}, {1, 3})}},
              {{"step", "100"}});
  const std::string full = bytes();
  const std::size_t data = full.size() - 3 * 4 - 8 - 3;
  for (std::size_t at = 0; at < full.size(); ++at) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string damaged = full;
      damaged[at] = static_cast<char>(damaged[at] ^ 1U << bit);
      write(damaged);
      const std::string why = refusal();
      ASSERT_NE(why, "(accepted)") << "byte " << at << ", bit " << bit;
      if (at < data) continue;
      const char* const name = at < data + 12 ? "first" : at < data + 20 ? "second" : "third";
      ASSERT_THAT(why, HasSubstr(std::string("tensor ") + name)) << at;
    }
  }
}

TEST_F(Safetensors, ReportsAChecksumThatDoesNotMatch) {
  saveTensors(path_, {{"a", ones({5})}}, {{"step", "3"}});
  std::string file = bytes();
  file.back() ^= 1;
  write(file);
  EXPECT_THAT(refusal(),
              HasSubstr("tensor a does not match its checksum: the file is damaged, or a program"));
  file.back() ^= 1;
  file.replace(file.find(R"("step":"3")"), 10, R"("step":"4")");
  write(file);
  EXPECT_THAT(refusal(), HasSubstr("its __metadata__ does not match its checksum"));
}

TEST_F(Safetensors, TakesFilesOfOthersThatHaveNoChecksums) {
  writeFile(
      R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"__metadata__":{"format":"pt"}})", 2);
  EXPECT_THAT(loadTensors(path_).tensors.at("a").toVector<std::uint8_t>(), ElementsAre('x', 'x'));
  EXPECT_EQ(loadTensors(path_).metadata, (Metadata{{"format", "pt"}}));
}

TEST_F(Safetensors, KeepsItsChecksumsToItself) {
  const Metadata own{{"lacuna.xxh3.a", "0"}};
  EXPECT_THROW(saveTensors(path_, {{"a", ones({1})}}, own), Error);
  saveTensors(path_, {{"a", ones({1})}}, {{"lacuna.xxh32", "somebody else's"}});
  EXPECT_EQ(loadTensors(path_).metadata, (Metadata{{"lacuna.xxh32", "somebody else's"}}));
}

TEST_F(Safetensors, RefusesHeadersThatMislead) {
  writeFile(
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
      8);
  EXPECT_THAT(refusal(), HasSubstr("overlaps"));
  writeFile(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})", 0);
  EXPECT_THAT(refusal(), HasSubstr("impossible shape"));
  writeFile(R"({"a":{"dtype":"F32","shape":[0,4611686018427387904,4],"data_offsets":[0,0]}})", 0);
  EXPECT_THAT(refusal(), HasSubstr("impossible shape"));
  writeFile(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8);
  EXPECT_THAT(refusal(), HasSubstr("does not fit its shape"));
  writeFile(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,8]}})", 8);
  EXPECT_THAT(refusal(), HasSubstr("impossible shape"));
  writeFile(R"({"a":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}})", 1);
  EXPECT_THAT(refusal(), HasSubstr("not supported"));
  writeFile(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 3);
  EXPECT_THAT(refusal(), HasSubstr("holds 3 bytes of tensors, but its header describes 1"));
  writeFile("[1,2]", 0);
  EXPECT_THAT(refusal(), HasSubstr("not a JSON object"));
}

TEST_F(Safetensors, RefusesWhatIsThereTwice) {
  writeFile(
      R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
      2);
  EXPECT_THAT(refusal(), HasSubstr("tensor a is there twice"));
  writeFile(R"({"__metadata__":{"step":"1","step":"2"}})", 0);
  EXPECT_THAT(refusal(), HasSubstr("__metadata__ has step twice"));
}

TEST_F(Safetensors, RefusesTruthValuesThatAreNone) {
  writeFile(R"({"a":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})", 2);
  EXPECT_THAT(refusal(), HasSubstr("something else than 0 and 1"));
}

TEST_F(Safetensors, NamesTheMissingFile) {
  EXPECT_THAT(refusal(), HasSubstr(path_.string()));
}

TEST_F(Safetensors, RefusesPipesAndFoldersAtOnce) {
  ASSERT_TRUE(fs::create_directory(path_));
  EXPECT_THAT(refusal(), HasSubstr("is not a regular file"));
  fs::remove(path_);
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THAT(refusal(), HasSubstr("is not a regular file"));
}

TEST_F(Safetensors, KeepsTheOldFileWhenTheNewOneCannotBeWritten) {
  const fs::path nowhere = path_ / "sub" / "file";
  EXPECT_THROW(saveTensors(nowhere, {{"a", ones({1})}}), Error);
  saveTensors(path_, {{"a", ones({1})}});
  EXPECT_THROW(saveTensors(path_, {{"__metadata__", ones({1})}}), Error);
  EXPECT_THAT(loadTensors(path_).tensors.at("a").toVector<float>(), ElementsAre(1));
}

TEST_F(Safetensors, KeepsTheOldFileWhenNobodyCouldReadTheNewOne) {
  saveTensors(path_, {{"a", ones({1})}});
  const auto refused = [this](const TensorMap& tensors, const Metadata& metadata) -> std::string {
    try {
      saveTensors(path_, tensors, metadata);
    } catch (const Error& error) {
      return error.what();
    }
    return "(saved)";
  };
  EXPECT_THAT(refused({{"b", ones({1})}}, {{"author", "J\xf6rg"}}), HasSubstr("not UTF-8"));
  EXPECT_THAT(refused({{"b\xff", ones({1})}}, {}), HasSubstr("not UTF-8"));
  if (!test::kThreadSanitized) {
    EXPECT_THAT(refused({{"b", ones({1})}}, {{"log", std::string(100'000'001, 'x')}}),
                HasSubstr("no reader takes more"));
  }
  EXPECT_THAT(refused({{"b", ones({1}, {DType::F32, kMeta})}}, {}), HasSubstr("is on meta"));
  EXPECT_THAT(loadTensors(path_).tensors.at("a").toVector<float>(), ElementsAre(1));
}

}  // namespace
}  // namespace lacuna::rt
