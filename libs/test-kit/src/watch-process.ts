import { appendFileSync } from 'node:fs'
import type { Child } from '@leadwire/embedded'
import { fromGlobalSetup } from './environment'

/** jest's global, which is missing in the global set-up. */
declare const expect: { getState(): { testPath?: string } } | undefined

/**
 * Records when a process starts and when it exits. The end of the run fails if a spec file left a process
 * running (global-teardown.cjs). The record is needed because such a process dies with its jest worker,
 * before the end of the run.
 */
export function watchProcess<T extends Child>(child: T): T {
  const log = fromGlobalSetup('LEADWIRE_TEST_PROCESSES')
  const record = (event: 'started' | 'exited') => {
    // The global set-up, which starts the shared systems, runs outside of a spec file.
    const file = typeof expect === 'undefined' ? 'the global set-up' : expect.getState().testPath
    appendFileSync(log, `${JSON.stringify({ event, name: child.name, pid: child.pid, file })}\n`)
  }
  record('started')
  void child.exited.then(() => record('exited'))
  return child
}
