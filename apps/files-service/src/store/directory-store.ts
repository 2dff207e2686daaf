import { constants } from 'node:fs'
import { access, link, mkdir, open, opendir, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { createBatcher } from '@leadwire/service-kit'
import { type ObjectStore, storeUnavailable, toStoreError } from './object-store'

const readCode = (error: unknown) => (error as NodeJS.ErrnoException).code ?? ''

// These codes mean "no such object". ELOOP means that the path is a symbolic link. Following the link could
// lead a reader out of the store.
const ABSENT = new Set(['ENOENT', 'ENOTDIR', 'ELOOP'])

const sync = async (path: string) => {
  const handle = await open(path, 'r')
  await handle.sync().finally(() => handle.close())
}

/**
 * Returns a function that flushes a folder to the disk. Callers that arrive during a flush share the next
 * flush.
 */
const createFolderSync = () => {
  const syncs = new Map<string, (asked: undefined) => Promise<undefined>>()
  return async (path: string): Promise<void> => {
    const known =
      syncs.get(path) ??
      createBatcher<undefined, undefined>({
        send: (asked) => sync(path).then(() => asked),
        maxBatch: Number.POSITIVE_INFINITY,
        maxInFlight: 1,
        maxQueued: Number.POSITIVE_INFINITY,
      })
    syncs.set(path, known)
    await known(undefined)
  }
}

/** Creates a store in a folder on this machine. Several processes may share the folder. */
export const createDirectoryStore = (root: string): ObjectStore => {
  const spoolFolder = join(root, '.incoming')
  const syncFolder = createFolderSync()
  const throwUnavailable = (cause: unknown): never => {
    throw storeUnavailable(cause)
  }
  /**
   * Returns normally if the error means that an object does not exist, and rethrows any other error. Throws
   * `unavailable` if the whole store is missing.
   */
  const requireAbsent = async (error: unknown) => {
    if (!ABSENT.has(readCode(error))) throw error
    await access(root).catch(throwUnavailable)
  }
  const checkSpool = () => access(spoolFolder, constants.W_OK | constants.X_OK)
  const makeFolder = async (path: string) => {
    // Creates no parent folders. If the volume of the root is not mounted, files must not be written to the
    // disk under the mount point.
    await mkdir(path, { mode: 0o750 }).catch((error) => {
      if (readCode(error) === 'ENOENT') throwUnavailable(error)
      if (readCode(error) !== 'EEXIST') throw error
    })
  }

  return {
    spoolFolder,
    prepare: async () => {
      await mkdir(spoolFolder, { recursive: true, mode: 0o750 })
      await checkSpool()
    },
    check: async () => {
      await access(root, constants.W_OK | constants.X_OK)
      await makeFolder(spoolFolder)
      await checkSpool()
    },
    put: async (key, file, signal) => {
      const path = join(root, key)
      try {
        await sync(file.path)
        signal?.throwIfAborted()
        await makeFolder(dirname(path))
        // Links the file, because a rename would replace an existing object.
        await link(file.path, path)
        // Flushes the root too, because another process may have made the collection's folder without having
        // flushed the root yet.
        await Promise.all([syncFolder(dirname(path)), syncFolder(root)])
      } catch (error) {
        throw toStoreError(error)
      }
    },
    get: async (key, { from = 0 } = {}) => {
      try {
        const handle = await open(join(root, key), constants.O_RDONLY | constants.O_NOFOLLOW)
        const { size } = await handle.stat()
        const bytes = handle.createReadStream({ start: from, highWaterMark: 64 * 1024 })
        return { size: size - from, bytes }
      } catch (error) {
        await requireAbsent(error)
        return undefined
      }
    },
    async *list({ before, signal }) {
      for await (const collection of await opendir(root).catch(throwUnavailable)) {
        if (!collection.isDirectory() || collection.name === basename(spoolFolder)) continue
        for await (const { name } of await opendir(join(root, collection.name))) {
          signal?.throwIfAborted()
          const key = `${collection.name}/${name}`
          const found = await stat(join(root, key)).catch(requireAbsent)
          if (found && found.mtime < before) yield key
        }
      }
    },
    delete: async (key) => {
      const path = join(root, key)
      try {
        await rm(path)
        await syncFolder(dirname(path))
      } catch (error) {
        await requireAbsent(error)
      }
    },
  }
}
