// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

class QWidget;

namespace lacuna::gui {

class Desk;
class Page;

/// A page of the window. Its line in page_list.cpp is all that the window knows of it.
struct PageEntry {
  const char* name;   ///< as in --page and in the settings
  const char* title;  ///< to be translated in the context MainWindow
  Page* (*make)(Desk& desk, QWidget* parent);
};

/// All pages, in the order of the page bar.
std::span<const PageEntry> allPages();

}  // namespace lacuna::gui
