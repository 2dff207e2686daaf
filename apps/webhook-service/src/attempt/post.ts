import type { Dispatcher } from 'undici'
import type { ConnectionError } from '../egress/connect'

interface Answer {
  status: number
  /** The first 4 KiB of the body as text; null when there was none. */
  response: string | null
}

export type AttemptTimeout = Error & {
  code: 'ETIMEDOUT'
  answer: Answer | undefined
  /** Whether the request began. */
  isConnected: boolean
}

const KEPT_BYTES = 4096
// Read so that the connection can be used again; a longer answer closes it.
const READ_BYTES = 1024 * 1024

/**
 * Posts a body and reads the answer, at most 1 MiB, within `timeoutMs`. A redirect is an answer; a status that was read counts, even
 * if the connection breaks. Rejects with AttemptTimeout, or with the error of the network.
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
    let controller: Dispatcher.DispatchController | undefined
    let timeout: AttemptTimeout | undefined
    let status: number | undefined
    const kept: Buffer[] = []
    let length = 0

    const answer = (): Answer | undefined =>
      status === undefined ? undefined : { status, response: textOf(kept, length) }
    // After the first call the promise is settled, and others change nothing.
    const end = (error?: unknown) => {
      clearTimeout(timer)
      const read = answer()
      if (read) resolve(read)
      else reject(error)
    }
    const timer = setTimeout(() => {
      const error = new Error('the attempt took too long')
      const isConnected = controller !== undefined
      timeout = Object.assign(error, { code: 'ETIMEDOUT' as const, answer: answer(), isConnected })
      reject(timeout)
      // Without a connection there is nothing to abort: the connector has the same limit.
      controller?.abort(timeout)
    }, timeoutMs)

    const handler: Dispatcher.DispatchHandler = {
      onRequestStart: (started) => {
        controller = started
        if (timeout) started.abort(timeout)
      },
      onResponseStart: (_, statusCode) => {
        if (statusCode >= 200) status = statusCode
      },
      onResponseData: (receiving, chunk) => {
        if (length < KEPT_BYTES) kept.push(Buffer.from(chunk.subarray(0, KEPT_BYTES - length)))
        length += chunk.length
        if (length <= READ_BYTES) return
        end()
        receiving.abort(new Error('the answer is too long'))
      },
      onResponseEnd: () => end(),
      onResponseError: (_, error: ConnectionError) => {
        status ??= error.status
        end(error)
      },
    }
    const { origin, pathname, search } = new URL(url)
    const request = { origin, path: pathname + search, method: 'POST' as const, headers, body }
    dispatcher.dispatch({ ...request, headersTimeout: 0, bodyTimeout: 0 }, handler)
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
