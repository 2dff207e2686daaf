import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import { bearerOf, ServiceError } from '@leadwire/service-kit'

/** Keys given at once. */
const PORTION = 1000

/**
 * Makes the function that lists the keys of stored files that are `ageS` seconds old or older, portion by portion, asking the
 * first copy of files-service that answers. Throws unavailable; a listing that breaks off throws, too.
 */
export const createListFiles = ({ urls, tokens }: { urls: URL[]; tokens: readonly string[] }) => {
  const authorization = bearerOf(tokens)
  const headers = authorization === undefined ? {} : { authorization }
  const ask = async (ageS: number, signal: AbortSignal): Promise<ReadableStream> => {
    let cause: unknown
    for (const url of urls) {
      try {
        const response = await fetch(new URL(`/files?unchanged_for=${ageS}`, url), { headers, signal })
        if (response.ok) return response.body as ReadableStream
        cause = new Error(`files-service answered ${response.status}`)
      } catch (error) {
        cause = error
      }
    }
    throw new ServiceError('unavailable', 'No copy of files-service lists the files.', { cause })
  }
  return async function* (ageS: number, signal: AbortSignal): AsyncGenerator<string[]> {
    const body = Readable.fromWeb(await ask(ageS, signal))
    let keys: string[] = []
    let failure: unknown
    // A reader of lines ends quietly when its input breaks off.
    body.on('error', (error) => {
      failure = error
    })
    try {
      for await (const key of createInterface({ input: body })) {
        if (keys.push(key) < PORTION) continue
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
