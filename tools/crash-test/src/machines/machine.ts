import type { Child } from '@leadwire/embedded'
import { listChildren, signal } from '../signal'

/** A process that stands in for a server on a separate machine. */
export type Machine = Child

/** The folder and the callbacks that all machines share. */
export interface Place {
  /** The folder with the data of all machines. */
  data: string
  /** Called with each line that a machine logs. */
  onLine: (line: string) => void
  /**
   * Registers a function to call at the end of the run. The function that was registered last is called
   * first.
   */
  onStop: (stop: () => Promise<unknown>) => void
}

/** Kills all processes of a machine at once, and waits until they have ended. */
export const loseMachine = async ({ pid, exited }: Machine): Promise<void> => {
  // Freezes the process first, so that it starts no more children while they are killed.
  signal([pid], 'SIGSTOP')
  signal([...(await listChildren(pid)), pid], 'SIGKILL')
  await exited
}
