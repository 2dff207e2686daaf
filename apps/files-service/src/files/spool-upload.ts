import { createHash, randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { readdir, rm, stat } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { finished, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { ServiceError } from '@leadwire/service-kit'
import { diskFailure, storeAway } from '../store/object-store'

/** Each spooled file's name starts with this: the folder may be the system's own. */
export const SPOOL_PREFIX = 'leadwire-upload-'

// How much of an upload waits for the disk, to be written at once: each write is a trip to another thread.
const WRITE_BUFFER_BYTES = 256 * 1024

export interface Spooled {
  path: string
  size: number
  /** Hexadecimal; empty when it is not wanted. */
  sha256: string
}

/**
 * Writes a request's body to its own file, passes the file to `work`, and removes it in any case. Throws too_large at the first
 * byte over `maxBytes`, and leaves the rest of the body unread. `onBytes` is called with the size of each chunk.
 */
export const withSpooledUpload = async <T>(
  body: IncomingMessage,
  options: { folder: string; maxBytes: number; wantsSha256: boolean; onBytes: (count: number) => void },
  work: (spooled: Spooled) => Promise<T>,
): Promise<T> => {
  const { folder, maxBytes, wantsSha256, onBytes } = options
  const path = join(folder, `${SPOOL_PREFIX}${randomUUID()}`)
  const hash = wantsSha256 ? createHash('sha256') : undefined
  let size = 0
  const meter = new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      size += chunk.length
      onBytes(chunk.length)
      if (size > maxBytes)
        return done(new ServiceError('too_large', `The file must not be larger than ${sizeText(maxBytes)}.`))
      hash?.update(chunk)
      done(null, chunk)
    },
  })
  try {
    await write(body, meter, path)
    return await work({ path, size, sha256: hash?.digest('hex') ?? '' })
  } finally {
    await rm(path, { force: true })
  }
}

const write = async (body: IncomingMessage, meter: Transform, path: string): Promise<void> => {
  const file = createWriteStream(path, { flags: 'wx', mode: 0o640, highWaterMark: WRITE_BUFFER_BYTES })
  // Not part of the pipeline, which would destroy the request, and with it the response.
  finished(body, { writable: false }, (error) => error && meter.destroy(error))
  body.pipe(meter)
  // Otherwise a file that is still being opened would be created after its removal.
  const closed = new Promise<void>((resolve) => file.once('close', resolve))
  await pipeline(meter, file)
    .catch((error: NodeJS.ErrnoException) => {
      throw error.code === 'ENOENT' ? storeAway(error) : diskFailure(error)
    })
    .finally(() => closed)
}

/** A limit as text: `10 MiB`, `512 KiB`, `1000 bytes`. Exact, in whole units. */
const sizeText = (bytes: number): string => {
  if (bytes % 1024 ** 2 === 0) return `${bytes / 1024 ** 2} MiB`
  if (bytes % 1024 === 0) return `${bytes / 1024} KiB`
  return bytes === 1 ? '1 byte' : `${bytes} bytes`
}

const HOUR_MS = 3_600_000

/**
 * Removes spooled files that a killed process left: those not written to for an hour. Younger ones may belong to another copy of
 * this service. Resolves with how many were removed.
 */
export const sweepSpool = async (folder: string, now: () => number): Promise<number> => {
  let removed = 0
  for (const name of await readdir(folder)) {
    const path = join(folder, name)
    try {
      if (!name.startsWith(SPOOL_PREFIX) || now() - (await stat(path)).mtimeMs < HOUR_MS) continue
      await rm(path, { force: true })
      removed += 1
    } catch {
      // Another copy may sweep at the same time, and another user's files are not ours to remove.
    }
  }
  return removed
}
