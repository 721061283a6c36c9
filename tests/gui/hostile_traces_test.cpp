// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

// Traces that strangers made, shown in every model.
#include <QDirIterator>

#include "models_way.h"
#include "qt_main.h"

namespace lacuna::gui {

class HostileTracesTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void everySeedOfTheFuzzersIsShown();
};

void HostileTracesTest::everySeedOfTheFuzzersIsShown() {
  int shown = 0;
  for (const char* kind : {"reader", "chrome", "nsys", "perfetto", "snapshot", "any_trace"}) {
    QDirIterator files(QStringLiteral(LACUNA_FUZZ_CORPUS "/") + QLatin1String(kind), QDir::Files);
    while (files.hasNext()) {
      const auto store = analyzer::Store::open(files.next().toStdString());
      if (!store) continue;
      testing::showEverything(*store);
      ++shown;
    }
  }
  QVERIFY(shown > 10);
}

}  // namespace lacuna::gui

int main(int argc, char** argv) {
  return lacuna::gui::testing::run<lacuna::gui::HostileTracesTest>(argc, argv);
}
#include "hostile_traces_test.moc"
