// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

namespace lacuna::gui {

/// A page that the window's page bar turns to. Then the keys go to the page's subject. The subject is no focus proxy of
/// the page. A proxy would take every Tab that comes in from the page bar, so Tab would not reach the widgets before
/// it.
class Page : public QWidget {
 public:
  using QWidget::QWidget;
  [[nodiscard]] QWidget* subject() const { return subject_; }

 protected:
  void setSubject(QWidget* subject) { subject_ = subject; }

 private:
  QWidget* subject_ = nullptr;
};

}  // namespace lacuna::gui
