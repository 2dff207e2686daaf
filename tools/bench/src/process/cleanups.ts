type Cleanup = () => unknown

export interface Cleanups {
  /** Registers a cleanup. Returns a function that runs it at once instead of at the end. */
  add(cleanup: Cleanup): () => Promise<void>
  /** Runs all cleanups, the latest first. Logs a failure and continues. */
  runAll(): Promise<void>
  /** Whether `runAll` has been called. */
  haveStarted(): boolean
}

/** Collects the cleanups of everything that must not outlive a run: processes, folders, connections. */
export const createCleanups = (): Cleanups => {
  const cleanups = new Set<Cleanup>()
  const runOne = async (cleanup: Cleanup) => {
    if (!cleanups.delete(cleanup)) return
    try {
      await cleanup()
    } catch (error) {
      console.error(`cleaning up: ${error instanceof Error ? error.message : error}`)
    }
  }
  const runLatestFirst = async () => {
    // Reads the set again for each cleanup, because a cleanup may be added while another one runs.
    while (cleanups.size > 0) await runOne([...cleanups].at(-1)!)
  }
  let running: Promise<void> | undefined
  return {
    add: (cleanup) => {
      cleanups.add(cleanup)
      return () => runOne(cleanup)
    },
    runAll: () => {
      running ??= runLatestFirst()
      return running
    },
    haveStarted: () => running !== undefined,
  }
}
