// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/names_page.h"

class QCheckBox;

namespace lacuna::gui {

/// The operators of the trace, each once or once for each of its input shapes.
class OperatorsPage : public NamesPage {
  Q_OBJECT

 public:
  explicit OperatorsPage(Desk& desk, QWidget* parent = nullptr);
  [[nodiscard]] std::vector<Command> commands() override;

 protected:
  [[nodiscard]] TableData tableOf(const analyzer::Analysis& analysis) const override;

 private:
  QCheckBox* byShapes_;
};

}  // namespace lacuna::gui
