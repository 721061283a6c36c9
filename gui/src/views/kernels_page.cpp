// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/kernels_page.h"

#include "models/analysis_tables.h"

namespace lacuna::gui {

KernelsPage::KernelsPage(Desk& desk, QWidget* parent)
    : NamesPage(analyzer::TrackKind::Work, tr("Kernels"), tr("This trace records no device work."),
                desk, parent) {}

TableData KernelsPage::tableOf(const analyzer::Analysis& analysis) const {
  return kernelTableOf(analysis);
}

}  // namespace lacuna::gui
