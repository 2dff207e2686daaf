/** Tells the parent that this process serves, and where. The process ends when its parent does, however that ends. */
export const serving = (ready: object): void => {
  // A terminal's Ctrl-C is the parent's to handle.
  process.on('SIGINT', () => {})
  process.on('disconnect', () => process.exit(0))
  process.send?.(ready)
}

/** The settings that startProgram gave. */
export const readSettings = <Settings>(): Settings => JSON.parse(process.argv[2] ?? '{}') as Settings
