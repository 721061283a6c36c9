// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>
#include <memory>
#include <utility>

#include "lacuna/analyzer/analysis.h"

namespace lacuna::gui {

/// The step times of two runs as two lines over the step's number.
class StepLines : public QWidget {
  Q_OBJECT

 public:
  explicit StepLines(QWidget* parent = nullptr);
  void setRuns(std::shared_ptr<const analyzer::Analysis> before,
               std::shared_ptr<const analyzer::Analysis> after, bool dark);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void paintLine(QPainter& painter, const analyzer::Steps& steps, double top, std::size_t most,
                 bool after) const;
  [[nodiscard]] QRect plot() const;
  /// The names of the first step and the last.
  [[nodiscard]] std::pair<QString, QString> ends() const;

  std::shared_ptr<const analyzer::Analysis> before_, after_;
  bool dark_ = true;
};

}  // namespace lacuna::gui
