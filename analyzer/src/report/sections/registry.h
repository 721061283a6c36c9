// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "report/section.h"

/// One line for each section, in the order of lists and of the text report.
#define LACUNA_SECTIONS(SECTION) \
  SECTION(summary)               \
  SECTION(ledger)                \
  SECTION(causes)                \
  SECTION(findings)              \
  SECTION(devices)               \
  SECTION(steps)                 \
  SECTION(kernels)               \
  SECTION(sequences)             \
  SECTION(operators)             \
  SECTION(ranges)                \
  SECTION(calls)                 \
  SECTION(launches)              \
  SECTION(loader)                \
  SECTION(memory)                \
  SECTION(communication)         \
  SECTION(copies)                \
  SECTION(efficiency)

namespace lacuna::analyzer::sections {

#define LACUNA_SECTION_DECLARED(name) extern constinit const Section name;
LACUNA_SECTIONS(LACUNA_SECTION_DECLARED)
#undef LACUNA_SECTION_DECLARED

}  // namespace lacuna::analyzer::sections
