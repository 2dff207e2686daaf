import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { ServiceError } from '@leadwire/service-kit'
import { createSend, type FilesService } from './files-service'

/** Keys given at once. */
const BATCH = 1000

/**
 * Makes the function that lists the keys of stored files that are `ageS` seconds old or older, batch by batch, asking the
 * first copy of files-service that answers. Throws unavailable; a listing that breaks off throws, too.
 */
export const createListFiles = (files: FilesService) => {
  const send = createSend(files)
  const ask = async (ageS: number, signal: AbortSignal): Promise<Readable> => {
    let cause: unknown
    for (const url of files.urls) {
      try {
        const { statusCode, body } = await send(new URL(`/files?unchanged_for=${ageS}`, url), {
          method: 'GET',
          signal,
        })
        if (statusCode === 200) return body
        await body.dump()
        cause = new Error(`files-service answered ${statusCode}`)
      } catch (error) {
        cause = error
      }
    }
    throw new ServiceError('unavailable', 'No copy of files-service lists the files.', { cause })
  }
  return async function* (ageS: number, signal: AbortSignal): AsyncGenerator<string[]> {
    const body = await ask(ageS, signal)
    let keys: string[] = []
    let failure: unknown
    // A reader of lines ends quietly when its input breaks off.
    body.on('error', (error) => {
      failure = error
    })
    try {
      for await (const key of createInterface({ input: body })) {
        if (keys.push(key) < BATCH) continue
        yield keys
        keys = []
      }
      if (failure || !body.readableEnded) throw failure ?? new Error('the list of files broke off')
      yield keys
    } finally {
      body.destroy()
    }
  }
}

export type ListFiles = ReturnType<typeof createListFiles>
