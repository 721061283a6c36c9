// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdlib>

/// The place of a process in a distributed job. Inline, because the libraries that enter other
/// programs link nothing.
namespace lacuna::prof {

struct PlaceInJob {
  std::int32_t rank = -1;   ///< -1: not known
  std::int32_t world = -1;  ///< number of ranks; -1: not known
};

/// A variable that is no number is something else's: -1.
inline std::int32_t numberOfVariable(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr || *value < '0' || *value > '9') return -1;
  char* end = nullptr;
  const long number = std::strtol(value, &end, 10);
  return *end == 0 && number <= INT32_MAX ? static_cast<std::int32_t>(number) : -1;
}

/// Launchers of distributed jobs set it in the environment of each process.
inline PlaceInJob placeInJob() {
  constexpr const char* kVariables[][2] = {{"RANK", "WORLD_SIZE"},
                                           {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                           {"PMI_RANK", "PMI_SIZE"},
                                           {"SLURM_PROCID", "SLURM_NTASKS"}};
  for (const auto& [rank, world] : kVariables) {
    if (const std::int32_t number = numberOfVariable(rank); number >= 0)
      return {number, numberOfVariable(world)};
  }
  return {};
}

}  // namespace lacuna::prof
