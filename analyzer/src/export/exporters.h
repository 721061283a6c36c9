// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "export/byte_sink.h"
#include "lacuna/analyzer/files.h"

namespace lacuna::analyzer {

prof::Status exportChrome(const Store& store, ByteSink& sink, const ExportOptions& options);
/// Perfetto's protocol buffers; an extension of the packets carries the rows themselves.
prof::Status exportPerfetto(const Store& store, ByteSink& sink, const ExportOptions& options);
prof::Status exportFolded(const Store& store, ByteSink& sink, const ExportOptions& options);
prof::Status exportSpeedscope(const Store& store, ByteSink& sink, const ExportOptions& options);
prof::Status exportCsv(const Store& store, ByteSink& sink, const ExportOptions& options);
prof::Status exportTableJson(const Store& store, ByteSink& sink, const ExportOptions& options);

/// Nsight Systems' SQLite schema; columns and tables of ours hold what it has no words for.
/// Replaces the file.
prof::Status exportNsys(const Store& store, const std::filesystem::path& path,
                        const ExportOptions& options);

/// The number of a table by its name; an error that lists the names.
prof::Result<std::size_t> tableNamed(std::string_view name);
/// A value of a column as text: texts in words, enums and numbers as numbers.
void appendValue(const Store& store, const prof::ColumnSpec& spec, const std::byte* value,
                 bool quoted, std::string& out);

}  // namespace lacuna::analyzer
