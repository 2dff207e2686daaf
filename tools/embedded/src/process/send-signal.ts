/**
 * Sends a signal to a process, or to a process group if `pid` is negative. Ignores a process that has just
 * ended, for example because the kernel ends it with its parent.
 */
export function sendSignal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
