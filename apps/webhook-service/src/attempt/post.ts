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
// What is read and thrown away so that a connection can be used again; a longer answer costs its connection.
const READ_BYTES = 1024 * 1024

/**
 * Posts a body and reads the answer, all within `timeoutMs`, from connecting to the answer's last byte. Redirects are
 * answers like others. Of an answer longer than 1 MiB the rest is not read. A status that was read stands,
 * whatever follows it within the time.
 *
 * Rejects with AttemptTimeout (with the answer as far as it came) or with what the network threw.
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
    const end = (settle: () => void) => {
      if (over) return
      over = true
      clearTimeout(timer)
      settle()
      kept = []
    }
    const timer = setTimeout(() => {
      const timeout = new AttemptTimeout(answer())
      end(() => reject(timeout))
      // Before the connection stands there is nothing to abort: the connector has the same limit.
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

/** What is kept of a text that was answered: 4 KiB. PostgreSQL takes no NUL in a text. */
export const keptText = (text: string): string | null => {
  const bytes = Buffer.from(text)
  return textOf([bytes.subarray(0, KEPT_BYTES)], bytes.length)
}

const textOf = (kept: Buffer[], length: number): string | null => {
  if (length === 0) return null
  const bytes = kept.length === 1 ? kept[0]! : Buffer.concat(kept)
  // A character that was cut in two at the end is left out; PostgreSQL takes no NUL in a text.
  const text =
    length > KEPT_BYTES
      ? new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true })
      : bytes.toString()
  return text.replaceAll('\0', '')
}
