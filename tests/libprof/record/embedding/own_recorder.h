/* SPDX-FileCopyrightText: The Lacuna authors
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef LACUNA_TESTS_OWN_RECORDER_H
#define LACUNA_TESTS_OWN_RECORDER_H

__attribute__((visibility("default"))) void recordWithOwnRecorder(int count);

#endif
