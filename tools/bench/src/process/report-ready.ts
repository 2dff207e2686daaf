/**
 * Sends `ready` to the parent process, to report that this process serves requests, and on which ports.
 * Afterwards this process exits when its parent does, however the parent ends.
 */
export const reportReady = (ready: object): void => {
  // A terminal sends Ctrl-C to both processes. This process ignores it, because the parent stops this
  // process.
  process.on('SIGINT', () => {})
  process.on('disconnect', () => process.exit(0))
  process.send?.(ready)
}

/** Returns the settings that `startProgram` has passed to this process. */
export const readSettings = <Settings>(): Settings => JSON.parse(process.argv[2] ?? '{}') as Settings
