// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/parts.h"

#include <array>

namespace lacuna::analyzer {
namespace {

constexpr std::array kParts{
#define LACUNA_ANALYSIS_POINTER(name) &parts::name,
    LACUNA_ANALYSES(LACUNA_ANALYSIS_POINTER)
#undef LACUNA_ANALYSIS_POINTER
};

}  // namespace

std::span<const AnalysisPart* const> allParts() {
  return kParts;
}

}  // namespace lacuna::analyzer
