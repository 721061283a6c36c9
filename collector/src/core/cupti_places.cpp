// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "core/cupti_places.h"

#include <algorithm>

namespace lacuna::collector {
namespace {

constexpr std::string_view kSystemPlaces[] = {"libcupti.so.13", "libcupti.so.12",
                                              "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
                                              "/usr/local/cuda/lib64/libcupti.so"};
constexpr int kMajor = 1000;  // 13010 is CUDA 13.1

/// 13 of "…/libcupti.so.13"; 0 where the name has no number.
int majorOf(std::string_view place) {
  constexpr std::string_view kName = "libcupti.so.";
  const std::size_t at = place.rfind(kName);
  int major = 0;
  if (at == std::string_view::npos) return 0;
  for (const char c : place.substr(at + kName.size())) {
    if (c < '0' || c > '9' || major > kMajor) break;
    major = 10 * major + (c - '0');
  }
  return major;
}

}  // namespace

std::vector<std::string> cuptiPlaces(int driverVersion, std::string_view ofPython) {
  std::vector<std::string> places;
  while (!ofPython.empty()) {
    const std::size_t end = std::min(ofPython.find(':'), ofPython.size());
    if (end > 0) places.emplace_back(ofPython.substr(0, end));
    ofPython.remove_prefix(std::min(ofPython.size(), end + 1));
  }
  places.insert(places.end(), std::begin(kSystemPlaces), std::end(kSystemPlaces));
  std::stable_partition(places.begin(), places.end(), [&](const std::string& place) {
    return driverVersion == 0 || majorOf(place) <= driverVersion / kMajor;
  });
  return places;
}

}  // namespace lacuna::collector
