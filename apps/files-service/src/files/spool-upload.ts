import { createHash, randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { readdir, rm, stat } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { finished, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { ServiceError } from '@leadwire/service-kit'
import { storeUnavailable, toStoreError } from '../store/object-store'
import type { SpoolSpace } from './spool-space'

/**
 * The prefix of the name of each spooled file. The spool folder may be the system's temporary folder, so a
 * sweep removes only files with this prefix.
 */
export const SPOOL_PREFIX = 'leadwire-upload-'

// How many bytes of an upload may wait to be written together. Few large writes to the disk are cheaper than
// many small ones, because Node.js passes each write to another thread.
const WRITE_BUFFER_BYTES = 256 * 1024

export interface Spooled {
  path: string
  size: number
  /** The hash in hexadecimal. Empty if the caller did not request the hash. */
  sha256: string
}

/**
 * Writes a request's body to a temporary file, passes the file to `work`, and always removes the file. Calls
 * `onBytes` with the size of each chunk. Throws `too_large` at the first byte over `maxBytes`, and
 * `unavailable` if the spool is full. In both cases the rest of the body stays unread.
 */
export const withSpooledUpload = async <T>(
  body: IncomingMessage,
  options: {
    folder: string
    space: SpoolSpace
    maxBytes: number
    wantsSha256: boolean
    onBytes: (count: number) => void
  },
  work: (spooled: Spooled) => Promise<T>,
): Promise<T> => {
  const { folder, space, maxBytes, wantsSha256, onBytes } = options
  const path = join(folder, `${SPOOL_PREFIX}${randomUUID()}`)
  const hash = wantsSha256 ? createHash('sha256') : undefined
  const file = space.open(path)
  let size = 0
  const meter = new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      size += chunk.length
      onBytes(chunk.length)
      if (size > maxBytes)
        return done(
          new ServiceError('too_large', `The file must not be larger than ${formatSize(maxBytes)}.`),
        )
      try {
        file.take(chunk.length)
      } catch (error) {
        return done(error as ServiceError)
      }
      hash?.update(chunk)
      done(null, chunk)
    },
  })
  try {
    await write(body, meter, path)
    return await work({ path, size, sha256: hash?.digest('hex') ?? '' })
  } finally {
    await rm(path, { force: true })
    file.close()
  }
}

const write = async (body: IncomingMessage, meter: Transform, path: string): Promise<void> => {
  const file = createWriteStream(path, { flags: 'wx', mode: 0o640, highWaterMark: WRITE_BUFFER_BYTES })
  // Pipes the body outside the pipeline below. On an error, that pipeline would destroy the body. Destroying
  // the body would close the connection, which the response needs.
  finished(body, { writable: false }, (error) => error && meter.destroy(error))
  body.pipe(meter)
  // Waits until the file is closed. Otherwise the caller could remove the file while the file is still being
  // opened, and the file could be created after its removal.
  const closed = new Promise<void>((resolve) => file.once('close', resolve))
  await pipeline(meter, file)
    .catch((error: NodeJS.ErrnoException) => {
      throw error.code === 'ENOENT' ? storeUnavailable(error) : toStoreError(error)
    })
    .finally(() => closed)
}

/** Formats a size exactly, in the largest whole unit: `10 MiB`, `512 KiB`, `1000 bytes`. */
const formatSize = (bytes: number): string => {
  if (bytes % 1024 ** 2 === 0) return `${bytes / 1024 ** 2} MiB`
  if (bytes % 1024 === 0) return `${bytes / 1024} KiB`
  return bytes === 1 ? '1 byte' : `${bytes} bytes`
}

const HOUR_MS = 3_600_000

/**
 * Removes the spooled files that killed processes have left behind. These are all files that were not written
 * to for an hour. Keeps younger files, which may belong to another copy of this service, and passes their
 * total size to `space`. Returns the number of removed files.
 */
export const sweepSpool = async (folder: string, space: SpoolSpace, now: () => number): Promise<number> => {
  let removed = 0
  let otherBytes = 0
  for (const name of await readdir(folder)) {
    const path = join(folder, name)
    try {
      if (!name.startsWith(SPOOL_PREFIX) || space.isOpen(path)) continue
      const { mtimeMs, size } = await stat(path)
      if (now() - mtimeMs < HOUR_MS) {
        otherBytes += size
        continue
      }
      await rm(path, { force: true })
      removed += 1
    } catch {
      // Skips the file: another copy may have removed it meanwhile, or it may belong to another user.
    }
  }
  space.setOtherBytes(otherBytes)
  return removed
}
