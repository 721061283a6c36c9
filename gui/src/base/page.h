// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QKeySequence>
#include <QWidget>
#include <functional>
#include <vector>

#include "base/findings.h"
#include "base/trace.h"

class QSettings;

namespace lacuna::gui {

/// A command of a page. The window puts it in a menu, or in the palette alone.
struct Command {
  enum class Place { FileMenu, GoMenu, Palette };
  Place place = Place::Palette;
  QString text;  ///< after a tab stands a key that the page takes itself
  std::function<void()> act;
  QKeySequence keys = {};    ///< that the window takes, whichever page is in front
  bool comesForward = true;  ///< the page comes to the front first; otherwise `act` decides
};

/// The figures of a page.
struct Figures {
  QString csv;    ///< comma-separated values; empty where the page has none
  int cutAt = 0;  ///< the rows in `csv`, where there are more than those; otherwise 0
};

/// A page that the window's page bar turns to. A page implements what it needs of these functions;
/// the window calls them for every page, in the order of views/page_list. All calls come on the
/// GUI's thread.
class Page : public QWidget {
  Q_OBJECT

 public:
  using QWidget::QWidget;

  /// The widget that keys go to when the page comes to the front. It is no focus proxy of the page.
  /// A proxy would take every Tab that comes in from the page bar, so Tab would not reach the
  /// widgets before it.
  [[nodiscard]] QWidget* subject() const { return subject_; }

  /// Another trace. Its analysis has begun, and setFindings() or setFailure() follows.
  virtual void setTrace(const TracePtr&) {}
  /// The same trace with more in it. All settings stay, and the findings stay until the next
  /// analysis.
  virtual void setGrown(const TracePtr&) {}
  /// The share of the analysis that is done.
  virtual void setProgress(double) {}
  /// An analysis of the trace, never null: the first, or a later one of a trace that grows.
  virtual void setFindings(const Findings&) {}
  /// The trace could not be analysed, for this reason.
  virtual void setFailure(const QString&) {}
  /// Follows setFindings(), where the trace has device work.
  virtual void setLedgers(const LedgerStrips&) {}
  virtual void setDark(bool) {}
  /// Something is still being worked out in the background.
  [[nodiscard]] virtual bool busy() const { return false; }
  [[nodiscard]] virtual Figures figures() const { return {}; }
  /// Saves the data with a dialog of the page; false where it has none, and the window saves
  /// figures().
  virtual bool saveData() { return false; }
  /// In the order of menus and palette.
  [[nodiscard]] virtual std::vector<Command> commands() { return {}; }
  /// The page keeps the parts of its look that are the same for every trace, such as where a
  /// splitter stands.
  virtual void saveAppearance(QSettings&) const {}
  virtual void restoreAppearance(const QSettings&) {}
  /// The state of this trace on the page. The settings are in the group of the trace.
  virtual void saveSession(QSettings&) const {}
  virtual void restoreSession(const QSettings&) {}

 Q_SIGNALS:
  /// The page is to come to the front.
  void wanted();

 protected:
  void setSubject(QWidget* subject) { subject_ = subject; }

 private:
  QWidget* subject_ = nullptr;
};

}  // namespace lacuna::gui
