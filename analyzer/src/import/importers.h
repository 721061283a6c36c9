// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

#include "import/event_windows.h"
#include "lacuna/analyzer/files.h"
#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// The bytes that some editors put before a JSON text.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

using StoreResult = prof::Result<std::shared_ptr<const Store>>;

/// All that there is to know about one kind of file. To add one: add its line to LACUNA_IMPORTERS,
/// and write the file that defines its importer.
struct Importer {
  SourceKind kind{};
  std::string_view name{};    ///< of one such file, for people
  std::string_view plural{};  ///< of all of them, in the list of what can be read
  /// Recognises a file by its first bytes: up to 512, unpacked, at least one. Kinds that are listed
  /// before have refused them.
  bool (*recognises)(std::string_view head) = nullptr;
  StoreResult (*open)(const std::filesystem::path& path, const OpenOptions& options) = nullptr;
};

/// kLcnImporter and so on.
#define LACUNA_IMPORTER(name) extern constinit const Importer k##name##Importer;
LACUNA_IMPORTERS(LACUNA_IMPORTER)
#undef LACUNA_IMPORTER

/// Every importer, in the order of LACUNA_IMPORTERS.
std::span<const Importer* const> importers();

/// Chrome's trace event format as PyTorch's profiler (Kineto) and others write it; see
/// docs/importing.md. It is read in pieces of these sizes.
StoreResult importChrome(const std::filesystem::path& path, const OpenOptions& options,
                         const WindowSizes& sizes = {});

/// An SQLite export of Nsight Systems (or of ours in its schema).
StoreResult importNsys(const std::filesystem::path& path, const OpenOptions& options);

/// A memory snapshot of PyTorch (torch.cuda.memory._dump_snapshot), which is a pickle; nothing in
/// it is executed.
StoreResult importSnapshot(const std::filesystem::path& path, const OpenOptions& options);

/// A Perfetto trace (protocol buffers).
StoreResult importPerfetto(const std::filesystem::path& path, const OpenOptions& options);

}  // namespace lacuna::analyzer
