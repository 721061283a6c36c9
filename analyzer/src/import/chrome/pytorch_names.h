// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// The names that PyTorch's profiler uses.
namespace lacuna::analyzer::pytorch {

/// The category of operators, and that of older versions.
inline constexpr std::string_view kOperators = "cpu_op";
inline constexpr std::string_view kOlderOperators = "Operator";
/// The engine calls the backward of an operator in a range of this name, with the backward's after
/// it.
inline constexpr std::string_view kEngine = "autograd::engine::evaluate_function: ";
inline constexpr std::string_view kStep = "ProfilerStep#";
inline constexpr std::string_view kLoaderWait = "enumerate(DataLoader)#";
inline constexpr std::string_view kOptimizerStep = "Optimizer.step#";
/// Operators that begin collectives, and those that a library of the host executes in threads of
/// its own.
inline constexpr std::string_view kCollectiveCalls = "c10d::";
inline constexpr std::string_view kHostCollectives = "gloo:";

/// The name of what the engine calls, of others their own.
inline std::string_view withoutEngine(std::string_view name) {
  return name.starts_with(kEngine) ? name.substr(kEngine.size()) : name;
}

/// True when an operator makes a tensor for another one and does nothing else.
inline bool onlyMakesRoom(std::string_view name) {
  return name.starts_with("aten::empty") || name.starts_with("aten::new_empty") ||
         name == "aten::resize_";
}

}  // namespace lacuna::analyzer::pytorch
