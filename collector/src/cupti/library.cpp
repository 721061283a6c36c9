// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "cupti/library.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "core/cupti_places.h"

namespace lacuna::collector::cupti {
namespace {

/// Room for two records of any kind, as the probe needs.
constexpr std::size_t kProbeBytes = 4096;
constexpr int kProbes = 2;

void* openFirst(std::span<const std::string> places, std::string& why) {
  for (const std::string& place : places) {
    if (void* handle = ::dlopen(place.c_str(), RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE))
      return handle;
  }
  for (const std::string& place : places) {
    if (void* handle = ::dlopen(place.c_str(), RTLD_NOW | RTLD_NODELETE)) return handle;
    const char* error = ::dlerror();
    why += (why.empty() ? "" : "; ") + std::string(error != nullptr ? error : place);
  }
  return nullptr;
}

/// 0 where no driver is loaded: it loads us, or the program records the host's side only.
int driverVersion() {
  int version = 0;
  void* driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (driver == nullptr) return version;
  if (auto* ask = reinterpret_cast<int (*)(int*)>(::dlsym(driver, "cuDriverGetVersion"));
      ask != nullptr)
    ask(&version);
  ::dlclose(driver);
  return version;
}

}  // namespace

bool Library::resolve() {
#define LACUNA_CUPTI_RESOLVE(name, required)                                            \
  name = reinterpret_cast<decltype(name)>(::dlsym(handle_, "cupti" #name));             \
  if (required && name == nullptr) {                                                    \
    why_ = "this libcupti has no function cupti" #name "; it is older than version 12"; \
    return false;                                                                       \
  }
  LACUNA_CUPTI_FUNCTIONS(LACUNA_CUPTI_RESOLVE)
#undef LACUNA_CUPTI_RESOLVE
  return true;
}

Library Library::load() {
  const char* ofPython = std::getenv(kPythonCupti);
  return load(cuptiPlaces(driverVersion(), ofPython != nullptr ? ofPython : ""));
}

Library Library::load(std::span<const std::string> places) {
  Library library;
  library.handle_ = openFirst(places, library.why_);
  if (library.handle_ == nullptr) return library;
  library.why_.clear();
  if (!library.resolve() || library.GetVersion(&library.version_) != CUPTI_SUCCESS) {
    if (library.why_.empty()) library.why_ = "libcupti does not report its version";
    library.handle_ = nullptr;
  }
  return library;
}

void* Library::symbol(const char* name) const {
  return handle_ != nullptr ? ::dlsym(handle_, name) : nullptr;
}

std::string Library::describe(CUptiResult result) const {
  const char* text = nullptr;
  if (GetResultString == nullptr || GetResultString(result, &text) != CUPTI_SUCCESS ||
      text == nullptr)
    text = "unknown";
  return std::string(text) + " (" + std::to_string(static_cast<int>(result)) + ")";
}

Strides Library::probeStrides() const {
  Strides strides{};
  std::vector<std::uint64_t> buffer(kProbeBytes / sizeof(std::uint64_t));
  auto* bytes = reinterpret_cast<std::uint8_t*>(buffer.data());
  for (std::uint32_t kind = 0; kind < strides.size(); ++kind) {
    // Wherever the second record begins, its kind is valid: every word of the buffer is one.
    for (std::size_t at = 0; at < kProbeBytes; at += sizeof kind)
      std::memcpy(bytes + at, &kind, sizeof kind);
    // It may fail for other reasons than the kind.
    CUpti_Activity* first = nullptr;
    CUpti_Activity* second = nullptr;
    for (int tries = 0; tries < kProbes && second == nullptr; ++tries) {
      first = nullptr;
      if (ActivityGetNextRecord(bytes, kProbeBytes, &first) != CUPTI_SUCCESS || first == nullptr)
        continue;
      CUpti_Activity* next = first;
      if (ActivityGetNextRecord(bytes, kProbeBytes, &next) == CUPTI_SUCCESS) second = next;
    }
    if (second == nullptr) continue;
    const auto stride =
        reinterpret_cast<std::uint8_t*>(second) - reinterpret_cast<std::uint8_t*>(first);
    if (stride > 0 && stride < static_cast<std::ptrdiff_t>(kProbeBytes))
      strides[kind] = static_cast<std::uint16_t>(stride);
  }
  return strides;
}

}  // namespace lacuna::collector::cupti
