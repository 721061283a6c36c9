// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

// Any bytes as a trace of any kind, shown in every model of the GUI.
#include <QApplication>

#include "fuzz_import.h"
#include "gui/models_way.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const QApplication* const kApplication = [] {
    ::setenv("QT_QPA_PLATFORM", "offscreen", 1);
    static int count = 1;
    static char name[] = "fuzz_models";
    static char* words[] = {name, nullptr};
    return new QApplication(count, words);  // as long as the process
  }();
  (void)kApplication;
  const auto store = lacuna::analyzer::Store::open(lacuna::analyzer::fuzzFile(data, size));
  if (store.ok()) lacuna::gui::testing::showEverything(*store);
  return 0;
}
