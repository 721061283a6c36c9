// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QStringList>
#include <QWidget>
#include <vector>

#include "base/page.h"

class QStackedWidget;
class QTabBar;

namespace lacuna::gui {

class Desk;

/// All pages of views/page_list behind the page bar.
class PageStack : public QWidget {
  Q_OBJECT

 public:
  PageStack(Desk& desk, QWidget* parent);
  /// In the order of the page bar.
  [[nodiscard]] const std::vector<Page*>& all() const { return all_; }
  [[nodiscard]] Page* current() const;
  /// The pages' names, as in --page, and that of the current page.
  [[nodiscard]] QStringList names() const;
  [[nodiscard]] QString name() const;
  [[nodiscard]] QString titleOf(int index) const;
  void show(int index);
  /// False for a name that is no page.
  bool show(const QString& name);

 private:
  void addPages(Desk& desk);

  QTabBar* tabs_;
  QStackedWidget* pages_;
  std::vector<Page*> all_;
};

}  // namespace lacuna::gui
