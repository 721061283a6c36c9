// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lacuna/analyzer/scope.h"
#include "lacuna/analyzer/timeline.h"

namespace lacuna::analyzer {

class LaunchIndex;

/// The type of number that a matrix unit multiplies.
enum class Number : std::uint8_t { Unknown, F64, F32, Tf32, F16, Bf16, I8, F8 };

/// Floating-point operations and the least bytes that an operator has to move, from its inputs'
/// shapes.
struct Demand {
  double flops = 0;  ///< 0: not derivable
  double bytes = 0;
  Number number = Number::Unknown;  ///< of the inputs, where the shapes show it

  [[nodiscard]] bool known() const { return bytes > 0; }
  /// The demand of both, of the type that does most arithmetic.
  void add(const Demand& other);
};

struct OperatorRow {
  std::string name;
  std::string shapes;
  std::uint64_t count = 0;
  std::int64_t totalNs = 0;   ///< host time, children included
  std::int64_t selfNs = 0;    ///< host time without recorded children
  std::int64_t deviceNs = 0;  ///< of the device work whose launch it is the innermost operator of
  std::int64_t stepSelfNs = 0;
  std::int64_t stepDeviceNs = 0;
  std::int64_t memBytes = 0;      ///< allocated less freed while it ran, children included
  std::int64_t selfMemBytes = 0;  ///< the same without recorded children
  std::int64_t recordingNs = 0;   ///< of totalNs, at most (ledger.h)
  std::int64_t selfRecordingNs = 0;
  std::int64_t deviceRecordingNs = 0;
  std::uint64_t deviceCalls = 0;  ///< calls with device work
  Demand inside{};  ///< of the operators inside these calls; only in the table by shapes
};
/// All operators, each way.
struct OperatorTables {
  std::vector<OperatorRow> byName, byShapes;
};
/// By name, or by name and shapes; greatest device time first, then self time.
enum class GroupBy : std::uint8_t { Name, NameAndShapes };
std::vector<OperatorRow> operatorTable(const Store& store, const Timeline& timeline,
                                       const LaunchIndex& launches, prof::TimeWindow window,
                                       GroupBy by = GroupBy::Name, const StepSpans& steps = {},
                                       const ShareCurve& taken = {});
/// In the order that the table has; for rows of several timelines that were added up.
void sortOperators(std::vector<OperatorRow>& operators);

}  // namespace lacuna::analyzer
