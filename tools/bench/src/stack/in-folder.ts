import { createGround, type Ground } from '../process/ground'
import { temporaryFolder } from './start-stack'

/** Runs `work` in a folder of its own; what it began is undone afterwards. */
export const inFolder = async <T>(
  ground: Ground,
  work: (folder: string, inner: Ground) => Promise<T>,
): Promise<T> => {
  const inner = createGround()
  const leave = ground.onLeave(inner.leave)
  try {
    return await work(await temporaryFolder(inner), inner)
  } finally {
    await leave()
  }
}
