// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QApplication>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QTest>

namespace lacuna::gui {

/// Time that a test waits for what has to come. The five seconds that Qt gives it may pass on a
/// busy machine before a thread gets to run.
inline constexpr int kPatienceMs = 60'000;

}  // namespace lacuna::gui

namespace lacuna::gui::testing {

inline QtMessageHandler testsHandler = nullptr;

/// All but what the offscreen platform prints for each window: that it cannot pass on size hints.
inline void dropOffscreensOwn(QtMsgType type, const QMessageLogContext& context,
                              const QString& message) {
  if (!message.startsWith(QLatin1String("This plugin does not support")))
    testsHandler(type, context, message);
}

/// Makes every warning of Qt a failure of the running test.
inline void failOnWarnings() {
  const QtMessageHandler was = qInstallMessageHandler(dropOffscreensOwn);
  if (was != dropOffscreensOwn) testsHandler = was;
  QTest::failOnWarning(QRegularExpression(QStringLiteral(".")));
}

/// Waits until layouts have settled and events have come to where they go: also on a machine that
/// takes longer over the first of them than the whole wait.
inline void settle(int ms = 20) {
  QTest::qWait(ms);
  for (int pass = 0; pass < 20; ++pass) QCoreApplication::processEvents();
}

/// Runs a QTest class without a display, with settings of its own.
template <class Test>
int run(int argc, char** argv) {
  QTemporaryDir own;
  qputenv("XDG_RUNTIME_DIR", own.path().toUtf8());
  qputenv("XDG_CONFIG_HOME", own.path().toUtf8());
  qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication app(argc, argv);
  QCoreApplication::setOrganizationName(QStringLiteral("lacuna-test"));
  Test test;
  return QTest::qExec(&test, argc, argv);
}

}  // namespace lacuna::gui::testing

#undef QTRY_VERIFY
#define QTRY_VERIFY(expr) QTRY_VERIFY_WITH_TIMEOUT(expr, lacuna::gui::kPatienceMs)
#undef QTRY_VERIFY2
#define QTRY_VERIFY2(expr, message) \
  QTRY_VERIFY2_WITH_TIMEOUT(expr, message, lacuna::gui::kPatienceMs)
#undef QTRY_COMPARE
#define QTRY_COMPARE(expr, expected) \
  QTRY_COMPARE_WITH_TIMEOUT(expr, expected, lacuna::gui::kPatienceMs)
