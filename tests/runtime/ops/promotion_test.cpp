// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <map>
#include <sstream>
#include <string>

#include "lacuna/runtime/ops.h"

/// The type of what operators make of two types, for every pair, and of a type and a number.
namespace lacuna::rt {
namespace {

const std::map<std::string, DType> kTypes{
    {"f32", DType::F32}, {"f64", DType::F64}, {"bf16", DType::BF16}, {"f16", DType::F16},
    {"i32", DType::I32}, {"i64", DType::I64}, {"u8", DType::U8},     {"bool", DType::Bool}};

/// The higher kind wins (bool, integer, float), then the wider type; bf16 and f16 meet in f32.
constexpr const char* kMeeting = R"(
       bool  u8    i32   i64   f16   bf16  f32   f64
 bool  bool  u8    i32   i64   f16   bf16  f32   f64
 u8    u8    u8    i32   i64   f16   bf16  f32   f64
 i32   i32   i32   i32   i64   f16   bf16  f32   f64
 i64   i64   i64   i64   i64   f16   bf16  f32   f64
 f16   f16   f16   f16   f16   f16   f32   f32   f64
 bf16  bf16  bf16  bf16  bf16  f32   bf16  f32   f64
 f32   f32   f32   f32   f32   f32   f32   f32   f64
 f64   f64   f64   f64   f64   f64   f64   f64   f64
)";

/// A number of each kind: whole, then with a fraction.
constexpr const char* kWithANumber = R"(
       bool  u8    i32   i64   f16   bf16  f32   f64
 2     i64   u8    i32   i64   f16   bf16  f32   f64
 0.5   f32   f32   f32   f32   f16   bf16  f32   f64
)";

/// Calls visit(row, column, cell) for each cell of a table.
void eachCell(const std::string& table,
              const std::function<void(std::string, DType, DType)>& visit) {
  std::istringstream lines(table);
  std::vector<std::string> columns;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::vector<std::string> cells;
    for (std::string word; words >> word;) cells.push_back(word);
    if (cells.empty()) continue;
    if (columns.empty()) {
      columns = cells;
      continue;
    }
    ASSERT_EQ(cells.size(), columns.size() + 1) << line;
    for (std::size_t i = 0; i < columns.size(); ++i)
      visit(cells[0], kTypes.at(columns[i]), kTypes.at(cells[i + 1]));
  }
}

void eachPair(const std::function<void(DType, DType, DType)>& visit) {
  int pairs = 0;
  eachCell(kMeeting, [&](const std::string& row, DType column, DType wanted) {
    SCOPED_TRACE(row + " with " + name(column));
    visit(kTypes.at(row), column, wanted);
    ++pairs;
  });
  EXPECT_EQ(pairs, kDTypeCount * kDTypeCount);
}

/// 1, 0, 1 and 1, 1, 0, which every type holds.
Tensor left(DType type) {
  return fromVector<double>({1, 0, 1}, {3}).to(type);
}
Tensor right(DType type) {
  return fromVector<double>({1, 1, 0}, {3}).to(type);
}

/// As text, so that the type is compared too.
std::string shownThree(DType type, std::vector<double> values) {
  return fromVector(values, {3}).to(type).toString();
}

TEST(Promotion, FollowsItsTableForEveryPair) {
  eachPair([](DType a, DType b, DType wanted) {
    EXPECT_EQ(promote(a, b), wanted);
    const Tensor truth = fromVector<bool>({true, false, true}, {3});
    EXPECT_EQ(where(truth, left(a), right(b)).toString(), shownThree(wanted, {1, 1, 1}));
    EXPECT_EQ(logicalAnd(left(a), right(b)).toString(), shownThree(DType::Bool, {1, 0, 0}));
    EXPECT_EQ(greater(left(a), right(b)).toString(), shownThree(DType::Bool, {0, 0, 1}));
    EXPECT_EQ(equal(left(a), right(b)).toString(), shownThree(DType::Bool, {1, 0, 0}));
  });
}

TEST(Promotion, GivesArithmeticThatTypeAndItsValues) {
  eachPair([](DType a, DType b, DType wanted) {
    EXPECT_EQ(div(left(a), right(b)).toString(),
              shownThree(isInteger(wanted) ? DType::F32 : wanted, {1, 0, INFINITY}));
    if (wanted == DType::Bool) {
      EXPECT_THROW((void)add(left(a), right(b)), Error);
      return;
    }
    EXPECT_EQ(add(left(a), right(b)).toString(), shownThree(wanted, {2, 1, 1}));
    EXPECT_EQ(sub(left(a), right(b)).toString(),
              shownThree(wanted, {0, wanted == DType::U8 ? 255.0 : -1.0, 1}));
    EXPECT_EQ(mul(left(a), right(b)).toString(), shownThree(wanted, {1, 0, 0}));
    EXPECT_EQ(pow(left(a), right(b)).toString(), shownThree(wanted, {1, 0, 1}));
    EXPECT_EQ(maximum(left(a), right(b)).toString(), shownThree(wanted, {1, 1, 1}));
    EXPECT_EQ(minimum(left(a), right(b)).toString(), shownThree(wanted, {1, 0, 0}));
  });
}

TEST(Promotion, InPlaceKeepsTheTypeOrThrows) {
  eachPair([](DType a, DType b, DType) {
    Tensor x = left(a);
    const bool cutsOff = isFloating(b) && !isFloating(a);
    if (a == DType::Bool || cutsOff) {
      EXPECT_THROW(x.add_(right(b)), Error);
      EXPECT_THROW(x.mul_(right(b)), Error);
      return;
    }
    EXPECT_EQ(x.add_(right(b)).toString(), shownThree(a, {2, 1, 1}));
    EXPECT_EQ(x.mul_(right(b)).toString(), shownThree(a, {2, 1, 0}));
  });
}

TEST(Promotion, OfATypeAndANumberFollowsItsTable) {
  int cells = 0;
  eachCell(kWithANumber, [&](const std::string& row, DType type, DType wanted) {
    SCOPED_TRACE(row + " with " + name(type));
    const double number = std::stod(row);
    EXPECT_EQ((left(type) + number).toString(),
              shownThree(wanted, {1 + number, number, 1 + number}));
    EXPECT_EQ((left(type) * number).toString(), shownThree(wanted, {number, 0, number}));
    EXPECT_EQ(pow(left(type), number).toString(), shownThree(wanted, {1, 0, 1}));
    EXPECT_EQ((left(type) / number).toString(),
              shownThree(isFloating(type) ? type : DType::F32, {1 / number, 0, 1 / number}));
    ++cells;
  });
  EXPECT_EQ(cells, 2 * kDTypeCount);
}

}  // namespace
}  // namespace lacuna::rt
