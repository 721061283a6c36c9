// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QApplication>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QTest>

namespace lacuna::gui::testing {

/// Makes every warning of Qt a failure of the running test, but for the offscreen platform's own confession.
inline void failOnWarnings() {
  QTest::failOnWarning(QRegularExpression(QStringLiteral("^(?!This plugin does not support)")));
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
