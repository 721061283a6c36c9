// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <optional>
#include <utility>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/report.h"

namespace lacuna::analyzer {

ReportTables reportTablesOf(std::shared_ptr<const Store> store) {
  const auto analysis = std::make_shared<std::optional<Analysis>>();
  return {reportTables({}),
          [analysis, store = std::move(store)](std::string_view key,
                                               const Progress& wanted) -> prof::Result<Table> {
            if (!*analysis) {
              auto made =
                  analyse(store, {.steps = {}, .device = {}, .rank = {}, .progress = wanted});
              if (!made) return made.error();
              *analysis = *std::move(made);
            }
            return reportTable(**analysis, key);
          }};
}

}  // namespace lacuna::analyzer
