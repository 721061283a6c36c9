// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

/// The table of docs/runtime-operators.md next to the headers that declare operators and to the
/// tests of gradients.
namespace {

const std::string kSources = LACUNA_SOURCES;

std::string contents(const std::string& path) {
  std::ifstream file(kSources + "/" + path);
  EXPECT_TRUE(file.good()) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Operators of the page, and the contents of their column "second".
std::map<std::string, std::string> operatorsOfPage() {
  std::map<std::string, std::string> operators;
  std::istringstream page(contents("docs/runtime-operators.md"));
  const std::regex row(R"(\| (.*`.*) \| .* \| .* \| (\w*) ?\|)");
  const std::regex name("`(\\w+)`");
  for (std::string line; std::getline(page, line);) {
    std::smatch cells;
    if (!std::regex_match(line, cells, row)) continue;
    const std::string names = cells[1];
    for (std::sregex_iterator at(names.begin(), names.end(), name), end; at != end; ++at)
      operators[(*at)[1]] = cells[2];
  }
  return operators;
}

std::set<std::string> operatorsOfHeaders() {
  std::set<std::string> operators;
  const std::regex declared(
      R"((?:^|\n)(?:\[\[nodiscard\]\] )?(?:Tensor|std::vector<Tensor>|RecurrentResult) (\w+)\()");
  for (const char* header : {"ops.h", "ops_image.h", "nn_sequence.h"}) {
    const std::string text = contents(std::string("runtime/include/lacuna/runtime/") + header);
    for (std::sregex_iterator at(text.begin(), text.end(), declared), end; at != end; ++at)
      operators.insert((*at)[1]);
  }
  return operators;
}

std::string snakeCase(const std::string& name) {
  std::string out;
  for (const char c : name) {
    if (std::isupper(static_cast<unsigned char>(c)) != 0) out += '_';
    out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

TEST(OperatorsPage, ListsWhatTheHeadersDeclare) {
  std::set<std::string> listed;
  for (const auto& [name, second] : operatorsOfPage()) listed.insert(name);
  EXPECT_EQ(listed, operatorsOfHeaders());
}

TEST(OperatorsPage, EveryOperatorIsTriedWithoutItsTensors) {
  const std::string calls = contents("tests/runtime/ops/undefined_test.cpp");
  for (const std::string& name : operatorsOfHeaders())
    EXPECT_TRUE(std::regex_search(calls, std::regex("\\(\\s*" + name + "[,(]")))
        << name << " has no call";
}

/// The text of the files whose cases check the second gradient too.
std::string gradientCases() {
  std::string cases = contents("tests/runtime/autograd/gradient_test.cpp");
  for (const auto& file :
       std::filesystem::recursive_directory_iterator(kSources + "/tests/runtime/ops")) {
    if (file.path().extension() != ".cpp") continue;
    const std::string text = contents(std::filesystem::relative(file.path(), kSources).string());
    if (text.find("#include \"runtime/ops/gradient_case.h\"") != std::string::npos) cases += text;
  }
  return cases;
}

TEST(OperatorsPage, OperatorsWithASecondGradientHaveItChecked) {
  const std::string cases = gradientCases();
  std::size_t checked = 0;
  for (const auto& [name, second] : operatorsOfPage()) {
    EXPECT_THAT(second, testing::AnyOf("yes", "no", "")) << name;
    if (second != "yes") continue;
    ++checked;
    const bool called = std::regex_search(cases, std::regex("\\b" + name + "\\("));
    EXPECT_TRUE(called || cases.find("{\"" + snakeCase(name)) != std::string::npos)
        << name << " has no case";
  }
  EXPECT_GT(checked, 50u);
}

}  // namespace
