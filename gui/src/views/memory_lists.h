// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QStringList>
#include <QWidget>

#include "base/findings.h"
#include "base/page.h"

class QStackedWidget;
class QTabBar;
class QVBoxLayout;

namespace lacuna::gui {

class MemoryEdits;
class TablePage;

/// The lists of the memory page behind tabs: what is alive, edits, the allocator, leaks, advice.
class MemoryLists : public QWidget {
  Q_OBJECT

 public:
  explicit MemoryLists(QWidget* parent);
  [[nodiscard]] TablePage* live() const { return live_; }
  [[nodiscard]] TablePage* leaks() const { return leaks_; }
  [[nodiscard]] TablePage* allocator() const { return allocator_; }
  [[nodiscard]] MemoryEdits* edits() const { return edits_; }
  [[nodiscard]] bool showsEdits() const;
  /// The findings about memory; null where there is no analysis.
  void setAdvice(const AnalysisPtr& analysis);
  /// The list of the tab in front.
  [[nodiscard]] Figures figures() const;
  /// "alive", "edits", "allocator", "leaks" or "advice".
  bool showTab(const QString& name);
  [[nodiscard]] QStringList tabNames() const;

 Q_SIGNALS:
  void tabChanged();
  /// The outcome of an export.
  void message(const QString& words);

 private:
  void addTab(const char* name, const QString& title, QWidget* page);

  QTabBar* tabs_;
  QStackedWidget* pages_;
  TablePage* live_;
  MemoryEdits* edits_;
  TablePage* allocator_;
  TablePage* leaks_;
  QWidget* advice_;
  QVBoxLayout* adviceList_;
};

}  // namespace lacuna::gui
