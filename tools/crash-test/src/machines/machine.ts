import type { Child } from '@leadwire/embedded'
import { childrenOf, signal } from '../signal'

/** A server on a machine of its own; here all are processes of one machine. */
export type Machine = Child

/** Where machines are started. */
export interface Place {
  /** The folder of everything. */
  data: string
  /** Is called with each line that they log. */
  onLine: (line: string) => void
  /** Takes what is to be done in the end; the last first. */
  onStop: (stop: () => Promise<unknown>) => void
}

/** Ends a machine: all of its processes at once. Resolves when they are gone. */
export const loseMachine = async ({ pid, exited }: Machine): Promise<void> => {
  // Stopped first: it starts no others then.
  signal([pid], 'SIGSTOP')
  signal([...(await childrenOf(pid)), pid], 'SIGKILL')
  await exited
}
