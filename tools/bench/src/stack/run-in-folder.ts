import { type Cleanups, createCleanups } from '../process/cleanups'
import { createTemporaryFolder } from './create-temporary-folder'

/** Runs `work` in a temporary folder. As soon as `work` ends, runs the cleanups that `work` has added. */
export const runInFolder = async <T>(
  cleanups: Cleanups,
  work: (folder: string, inner: Cleanups) => Promise<T>,
): Promise<T> => {
  const inner = createCleanups()
  const cleanUp = cleanups.add(inner.runAll)
  try {
    return await work(await createTemporaryFolder(inner), inner)
  } finally {
    await cleanUp()
  }
}
