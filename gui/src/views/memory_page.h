// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>
#include <memory>

#include "lacuna/analyzer/analysis.h"

class QLabel;

namespace lacuna::gui {

class MemoryChart;
class RoleBar;
class TablePage;

/// Memory over time, and what was alive at the peak.
class MemoryPage : public QWidget {
  Q_OBJECT

 public:
  explicit MemoryPage(QWidget* parent = nullptr);
  void setAnalysis(std::shared_ptr<const analyzer::Analysis> analysis);
  void setDark(bool dark);
  [[nodiscard]] TablePage* live() const { return live_; }

 Q_SIGNALS:
  void momentWanted(lacuna::prof::TimeNs timeNs);

 private:
  std::shared_ptr<const analyzer::Analysis> analysis_;
  bool dark_ = true;
  QLabel* title_;
  QLabel* facts_;
  MemoryChart* chart_;
  RoleBar* roles_;
  TablePage* live_;
};

}  // namespace lacuna::gui
