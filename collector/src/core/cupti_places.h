// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace lacuna::collector {

/// The copies of libcupti that the hook in a Python program finds among its packages, separated by
/// colons.
inline constexpr const char* kPythonCupti = "LACUNA_PYTHON_CUPTI";

/// Below a folder of Python packages: NVIDIA's packages of CUDA 13 and 12, and Triton's own copies.
inline constexpr std::array<std::string_view, 4> kCuptiInPackages{
    "nvidia/cu13/lib/libcupti.so.13", "nvidia/cuda_cupti/lib/libcupti.so.12",
    "triton/backends/nvidia/lib/cupti-blackwell/libcupti.so.13",
    "triton/backends/nvidia/lib/cupti/libcupti.so.12"};

/// Lists where to look for libcupti, in order. Python's packages come first (a list as
/// kPythonCupti's), then the loader's places. The folders where CUDA's installer puts it unknown to
/// the loader follow. Copies of a CUDA that is newer than the driver's come last: they may refuse
/// to work with it. `driverVersion` is cuDriverGetVersion()'s, 0 where there is no driver.
std::vector<std::string> cuptiPlaces(int driverVersion, std::string_view ofPython);

}  // namespace lacuna::collector
