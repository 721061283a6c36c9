// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "python/module_name.h"

#include <gtest/gtest.h>

namespace lacuna::collector::python {
namespace {

TEST(ModuleName, OfTheProgramsOwnFiles) {
  EXPECT_EQ(moduleOf("/home/me/project/train.py"), "train");
  EXPECT_EQ(moduleOf("train.py"), "train");
  EXPECT_EQ(moduleOf("/home/me/.venv/bin/tool"), "tool");
}

TEST(ModuleName, OfInstalledPackages) {
  EXPECT_EQ(moduleOf("/v/lib/python3.11/site-packages/numpy/core/fromnumeric.py"),
            "numpy.core.fromnumeric");
  EXPECT_EQ(moduleOf("/usr/lib/python3/dist-packages/yaml/__init__.py"), "yaml");
}

TEST(ModuleName, OfPythonsOwnLibrary) {
  EXPECT_EQ(moduleOf("/usr/lib/python3.11/json/decoder.py"), "json.decoder");
  EXPECT_EQ(moduleOf("/usr/lib/python3.9/threading.py"), "threading");
  EXPECT_EQ(moduleOf("<frozen importlib._bootstrap>"), "importlib._bootstrap");
  EXPECT_EQ(moduleOf("/home/me/lib/python3.tools/run.py"), "run") << "no version";
}

TEST(ModuleName, OfWhatIsNoFile) {
  EXPECT_EQ(moduleOf("<string>"), "<string>");
  EXPECT_EQ(moduleOf("<ipython-input-1>"), "<ipython-input-1>");
  EXPECT_EQ(moduleOf(""), "");
}

}  // namespace
}  // namespace lacuna::collector::python
