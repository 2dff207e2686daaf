import { constants } from 'node:fs'
import { access, link, mkdir, open, opendir, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { createBatcher } from '@leadwire/service-kit'
import { diskFailure, type ObjectStore, storeAway } from './object-store'

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code ?? ''

// A symbolic link would lead a reader out of the store: it counts as no object.
const ABSENT = new Set(['ENOENT', 'ENOTDIR', 'ELOOP'])

const sync = async (path: string) => {
  const handle = await open(path, 'r')
  await handle.sync().finally(() => handle.close())
}

/** `sync` of folders. Callers that ask while one is in flight share the next. */
const createFolderSync = () => {
  const syncs = new Map<string, (asked: undefined) => Promise<undefined>>()
  return async (path: string): Promise<void> => {
    const known =
      syncs.get(path) ??
      createBatcher<undefined, undefined>({
        send: (asked) => sync(path).then(() => asked),
        ...{ maxBatch: Number.POSITIVE_INFINITY, maxInFlight: 1, maxQueued: Number.POSITIVE_INFINITY },
      })
    syncs.set(path, known)
    await known(undefined)
  }
}

/** A store in a folder of this machine. Several processes may share it. */
export const createDirectoryStore = (root: string): ObjectStore => {
  const spoolFolder = join(root, '.incoming')
  const syncFolder = createFolderSync()
  const rethrowAway = (cause: unknown): never => {
    throw storeAway(cause)
  }
  const absentOrThrow = async (error: unknown) => {
    if (!ABSENT.has(codeOf(error))) throw error
    await access(root).catch(rethrowAway)
  }
  const checkSpool = () => access(spoolFolder, constants.W_OK | constants.X_OK)
  const makeFolder = async (path: string) => {
    // Not recursive: a root that disappeared (an unmounted volume) must not be made again on the disk below it.
    await mkdir(path, { mode: 0o750 }).catch((error) => {
      if (codeOf(error) === 'ENOENT') rethrowAway(error)
      if (codeOf(error) !== 'EEXIST') throw error
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
        // A link, because a rename would replace an existing object.
        await link(file.path, path)
        // The root for the collection's own entry: the process that made the folder may not have synced it yet.
        await Promise.all([syncFolder(dirname(path)), syncFolder(root)])
      } catch (error) {
        throw diskFailure(error)
      }
    },
    get: async (key, { from = 0 } = {}) => {
      try {
        const handle = await open(join(root, key), constants.O_RDONLY | constants.O_NOFOLLOW)
        const { size } = await handle.stat()
        const bytes = handle.createReadStream({ start: from, highWaterMark: 64 * 1024 })
        return { size: size - from, bytes }
      } catch (error) {
        await absentOrThrow(error)
        return undefined
      }
    },
    async *list({ before, signal }) {
      for await (const collection of await opendir(root).catch(rethrowAway)) {
        if (!collection.isDirectory() || collection.name === basename(spoolFolder)) continue
        for await (const { name } of await opendir(join(root, collection.name))) {
          signal?.throwIfAborted()
          const key = `${collection.name}/${name}`
          const found = await stat(join(root, key)).catch(absentOrThrow)
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
        await absentOrThrow(error)
      }
    },
  }
}
