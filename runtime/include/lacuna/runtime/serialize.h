// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "lacuna/runtime/tensor.h"

/// Saving and loading in the safetensors format: a JSON header and raw bytes, so that loading
/// executes nothing.
namespace lacuna::rt {

using TensorMap = std::map<std::string, Tensor>;
using Metadata = std::map<std::string, std::string>;

/// Writes the tensors (after waiting for the queue) to a new file. It replaces `path` only when it
/// is complete, so a crash or a full disk leaves the old file as it was. Throws Error when it
/// cannot be written. The file's metadata gets checksums of the tensors and of the other metadata
/// (`lacuna.xxh3…`), which loading checks and takes out again.
void saveTensors(const std::filesystem::path& path, const TensorMap& tensors,
                 const Metadata& metadata = {});

struct LoadedTensors {
  TensorMap tensors;
  Metadata metadata;
};

/// Reads such a file into CPU tensors. A file that is damaged, truncated or made to mislead gives
/// an Error that names the fault and its tensor. Nothing is allocated beyond the size of the file.
/// In a file of another program, which has no checksums, changed bytes of a tensor cannot be
/// detected.
[[nodiscard]] LoadedTensors loadTensors(const std::filesystem::path& path);

}  // namespace lacuna::rt
