/**
 * Reports to the parent process that this process is ready to serve, and where. Afterwards this process exits
 * when its parent does, however the parent ends.
 */
export const reportReady = (ready: object): void => {
  // A terminal sends Ctrl-C to both processes. This process ignores it, and the parent stops this process in
  // order.
  process.on('SIGINT', () => {})
  process.on('disconnect', () => process.exit(0))
  process.send?.(ready)
}

/** Returns the settings that `startProgram` has passed to this process. */
export const readSettings = <Settings>(): Settings => JSON.parse(process.argv[2] ?? '{}') as Settings
