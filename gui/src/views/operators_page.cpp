// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/operators_page.h"

#include <QCheckBox>

#include "models/analysis_tables.h"

namespace lacuna::gui {

OperatorsPage::OperatorsPage(Desk& desk, QWidget* parent)
    : NamesPage(analyzer::TrackKind::Ranges, tr("Operators"),
                tr("This trace records no operators."), desk, parent),
      byShapes_(new QCheckBox(tr("by input shapes"), this)) {
  addControl(byShapes_);
  connect(byShapes_, &QCheckBox::toggled, this, &OperatorsPage::fill);
}

std::vector<Command> OperatorsPage::commands() {
  return {{.text = tr("Operators: by input shapes, or together"),
           .act = [this] { byShapes_->toggle(); }}};
}

TableData OperatorsPage::tableOf(const analyzer::Analysis& analysis) const {
  return operatorTableOf(analysis, byShapes_->isChecked());
}

}  // namespace lacuna::gui
