import { createHash, randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { finished, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { ServiceError } from '@leadwire/service-kit'
import { diskFailure, storeAway } from '../store/object-store'
import { SPOOL_PREFIX } from './sweep-spool'

// How much of an upload waits for the disk, to be written at once: each write is a trip to another thread.
const WRITE_BUFFER_BYTES = 256 * 1024

export interface Spooled {
  path: string
  /** Bytes. */
  size: number
  /** Hexadecimal; empty when it is not wanted. */
  sha256: string
}

export interface SpoolOptions {
  folder: string
  maxBytes: number
  wantsSha256: boolean
  /** Called with the size of each chunk. */
  onBytes: (count: number) => void
}

/**
 * Writes a request's body to its own file, passes the file to `work`, and removes it in any case. Throws too_large at the first
 * byte over `maxBytes`, and leaves the rest of the body unread.
 */
export const withSpooledUpload = async <T>(
  body: IncomingMessage,
  options: SpoolOptions,
  work: (spooled: Spooled) => Promise<T>,
): Promise<T> => {
  const path = join(options.folder, `${SPOOL_PREFIX}${randomUUID()}`)
  const meter = createMeter(options)
  try {
    await write(body, meter.stream, path)
    return await work({ path, ...meter.findings() })
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

const KIBIBYTE = 1024
const MEBIBYTE = 1024 * KIBIBYTE

/** A limit as text: `10 MiB`, `512 KiB`, `1000 bytes`. Exact, in whole units. */
const sizeText = (bytes: number): string => {
  if (bytes % MEBIBYTE === 0) return `${bytes / MEBIBYTE} MiB`
  if (bytes % KIBIBYTE === 0) return `${bytes / KIBIBYTE} KiB`
  return bytes === 1 ? '1 byte' : `${bytes} bytes`
}

/** Passes bytes on, and collects what a file is checked by. */
const createMeter = ({ maxBytes, wantsSha256, onBytes }: SpoolOptions) => {
  const hash = wantsSha256 ? createHash('sha256') : undefined
  let size = 0
  const stream = new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      size += chunk.length
      onBytes(chunk.length)
      if (size > maxBytes) {
        return done(new ServiceError('too_large', `The file must not be larger than ${sizeText(maxBytes)}.`))
      }
      hash?.update(chunk)
      done(null, chunk)
    },
  })
  return { stream, findings: () => ({ size, sha256: hash?.digest('hex') ?? '' }) }
}
