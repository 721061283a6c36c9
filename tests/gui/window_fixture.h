// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QSettings>
#include <QSignalSpy>
#include <QTest>
#include <memory>

#include "app/loader.h"
#include "app/main_window.h"
#include "gui/qt_main.h"
#include "gui/sample_trace.h"

namespace lacuna::gui::testing {

/// A window without a past, shown at 1280×800.
inline std::unique_ptr<MainWindow> makeWindow() {
  QSettings().clear();
  auto window = std::make_unique<MainWindow>();
  window->setDark(true);
  window->resize(1280, 800);
  window->show();
  return window;
}

/// Shows a page and waits until nothing is being worked out for it.
inline bool showSettled(MainWindow& window, const char* page) {
  if (!window.showPage(QString::fromLatin1(page))) return false;
  QTest::qWait(20);  // layouts settle
  return QTest::qWaitFor([&] { return !window.busy(); }, kPatienceMs);
}

/// Opens a file and waits until nothing is being worked out; false when it could not be opened.
inline bool openAnalysed(MainWindow& window, const QString& path) {
  QSignalSpy analysed(&window, &MainWindow::analysisShown);
  QSignalSpy failed(&window, &MainWindow::traceFailed);
  window.openFile(path);
  return QTest::qWaitFor(
             [&] { return failed.count() > 0 || (analysed.count() > 0 && !window.busy()); },
             kPatienceMs) &&
         failed.count() == 0;
}

/// The same with the trace made by hand.
inline bool openSample(MainWindow& window, int steps = 6) {
  window.loader()->setOpener(
      [steps](const auto&, const auto&) { return prof::Result(sampleTrace(steps)); });
  return openAnalysed(window, QStringLiteral("run.lcn"));
}

}  // namespace lacuna::gui::testing
