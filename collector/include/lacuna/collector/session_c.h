/* SPDX-FileCopyrightText: The Lacuna authors
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef LACUNA_COLLECTOR_SESSION_C_H
#define LACUNA_COLLECTOR_SESSION_C_H

/* lacuna/collector/session.h in C: records this process, with NVTX and CUDA, into a trace. Link lacuna::collector.
 * Start the first session before the first NVTX annotation and before CUDA initialises. */

#ifdef __cplusplus
extern "C" {
#endif

/* Starts recording into `file`. `sources` as for lacuna run --trace ("nvtx,cuda,cublas"); NULL: the default. 0, or -1
 * and lacunaCollectorError() says why. */
int lacunaCollectorStart(const char* file, const char* sources);
/* Ends the recording and closes the file. 0, or -1 as above. Without a session it does nothing. */
int lacunaCollectorStop(void);
/* What the session that runs cannot record although `sources` names it, or because a variable of the environment is
 * taken: one line for each, "" where there is nothing to say. Valid until the next call. */
const char* lacunaCollectorNotes(void);
/* What went wrong in the last call that failed; "" before any did. Valid until the next call. */
const char* lacunaCollectorError(void);

#ifdef __cplusplus
}
#endif

#endif
