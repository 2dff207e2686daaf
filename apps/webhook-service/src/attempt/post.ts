import { LRUCache } from 'lru-cache'
import type { Dispatcher } from 'undici'
import type { ConnectionError } from '../egress/watch-connection'

/** What is kept of an answer. */
export interface Answer {
  status: number
  /** The first 4 KiB of the body as text; null when there was none. */
  response: string | null
}

export class AttemptTimeout extends Error {
  readonly code = 'ETIMEDOUT'
  constructor(readonly answer: Answer | undefined) {
    super('the attempt took too long')
    this.name = 'AttemptTimeout'
  }
}

// Each URL is parsed once, not for every attempt.
const targets = new LRUCache<string, { origin: string; path: string }>({
  max: 10_000,
  memoMethod: (url) => {
    const { origin, pathname, search } = new URL(url)
    return { origin, path: pathname + search }
  },
})

const KEPT_BYTES = 4096
// Read so that the connection can be used again; a longer answer closes it.
const READ_BYTES = 1024 * 1024

/**
 * Posts a body and reads the answer, all within `timeoutMs`. A redirect is an answer. After 1 MiB the rest of an answer is not read.
 * A status that was read counts, even if the connection breaks. Rejects with AttemptTimeout, or with the error of the network.
 */
export const post = (options: {
  dispatcher: Dispatcher
  url: string
  headers: Record<string, string>
  body: Buffer
  timeoutMs: number
}): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const { dispatcher, url, headers, body, timeoutMs } = options
    const { origin, path } = targets.memo(url)
    let controller: Dispatcher.DispatchController | undefined
    let status: number | undefined
    let kept: Buffer[] = []
    let length = 0

    const answer = (): Answer | undefined =>
      status === undefined ? undefined : { status, response: textOf(kept, length) }
    let over = false
    const end = (resolveOrReject: () => void) => {
      if (over) return
      over = true
      clearTimeout(timer)
      resolveOrReject()
      kept = []
    }
    const timer = setTimeout(() => {
      const timeout = new AttemptTimeout(answer())
      end(() => reject(timeout))
      // Without a connection there is nothing to abort: the connector has the same limit.
      controller?.abort(timeout)
    }, timeoutMs)

    const handler: Dispatcher.DispatchHandler = {
      onRequestStart: (started) => {
        controller = started
        if (over) started.abort(new AttemptTimeout(undefined))
      },
      onResponseStart: (_, statusCode) => {
        if (statusCode >= 200) status = statusCode
      },
      onResponseData: (receiving, chunk) => {
        if (length < KEPT_BYTES) kept.push(Buffer.from(chunk.subarray(0, KEPT_BYTES - length)))
        length += chunk.length
        if (length <= READ_BYTES) return
        end(() => resolve(answer()!))
        receiving.abort(new Error('the answer is too long'))
      },
      onResponseEnd: () => end(() => resolve(answer()!)),
      onResponseError: (_, error: ConnectionError) => {
        status ??= error.status
        end(() => (status === undefined ? reject(error) : resolve(answer()!)))
      },
    }
    dispatcher.dispatch(
      { origin, path, method: 'POST', headers, body, headersTimeout: 0, bodyTimeout: 0 },
      handler,
    )
  })

/** The part of an answer that is kept: 4 KiB. */
export const keptText = (text: string): string | null => {
  const bytes = Buffer.from(text)
  return textOf([bytes.subarray(0, KEPT_BYTES)], bytes.length)
}

const textOf = (kept: Buffer[], length: number): string | null => {
  if (length === 0) return null
  const bytes = kept.length === 1 ? kept[0]! : Buffer.concat(kept)
  // Without the half of a character at the end. PostgreSQL stores no NUL in a text.
  const text =
    length > KEPT_BYTES
      ? new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true })
      : bytes.toString()
  return text.replaceAll('\0', '')
}
