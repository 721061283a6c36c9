// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "lacuna/prof/result.h"

namespace lacuna::collector {

/// The outcome of decoding a capture.
struct CaptureReport {
  std::uint64_t files = 0;    ///< one a process
  std::uint64_t records = 0;  ///< of CUPTI
  std::uint64_t rows = 0;     ///< in the trace
  std::vector<std::string> notes;
};

/// True for a file that `lacuna run --raw-capture` wrote, and for a folder that holds such files.
bool isRawCapture(const std::filesystem::path& path);

/// Decodes what CUPTI handed over (a file, or the folder with one file a process) into a trace of
/// its own: the CUDA timeline without the host's annotations. Needs no GPU and no CUPTI. Fails
/// where the capture cannot be read or the trace not be written, and in a build without the CUDA
/// toolkit's headers.
prof::Result<CaptureReport> convertCapture(const std::filesystem::path& capture,
                                           const std::filesystem::path& output);

}  // namespace lacuna::collector
