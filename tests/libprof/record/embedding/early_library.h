/* SPDX-FileCopyrightText: The Lacuna authors
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef LACUNA_TESTS_EARLY_LIBRARY_H
#define LACUNA_TESTS_EARLY_LIBRARY_H

__attribute__((visibility("default"))) void recordInLibrary(void);

#endif
