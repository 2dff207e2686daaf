import type { Dispatcher } from 'undici'
import type { ConnectionError } from '../../egress/connect'
import { KEPT_BYTES, readText } from './read-response'

interface Received {
  status: number
  /** The first 4 KiB of the body as text. Null if the body is empty. */
  response: string | null
}

export type AttemptTimeout = Error & {
  code: 'ETIMEDOUT'
  /** The part of the response that arrived in time. Undefined if no status arrived. */
  response: Received | undefined
  /** Whether a connection was open and the request had started. */
  isConnected: boolean
}

/**
 * How many bytes of a response are read at most. Only the first 4 KiB are kept, but a connection can be
 * reused only after the whole response was read. A longer response closes the connection.
 */
const READ_BYTES = 1024 * 1024

/**
 * Posts a body and reads the response within `timeoutMs`. Resolves with the status and the start of the
 * response when the response has ended or is too long, or when the connection breaks after the status. Does
 * not follow redirects. Rejects with an AttemptTimeout, or with a network error.
 */
export const post = (options: {
  dispatcher: Dispatcher
  url: string
  headers: Record<string, string>
  body: Buffer
  timeoutMs: number
}): Promise<Received> =>
  new Promise((resolve, reject) => {
    const { dispatcher, url, headers, body, timeoutMs } = options
    let controller: Dispatcher.DispatchController | undefined
    let timeout: AttemptTimeout | undefined
    let status: number | undefined
    let responseHeaders: Record<string, string | string[] | undefined> = {}
    const kept: Buffer[] = []
    let length = 0
    let isOver = false

    const readReceived = async (): Promise<Received | undefined> => {
      if (status === undefined) return undefined
      const bytes = Buffer.concat(kept)
      const response = await readText({
        bytes,
        isCut: length > bytes.length,
        contentEncoding: String(responseHeaders['content-encoding'] ?? ''),
        contentType: String(responseHeaders['content-type'] ?? ''),
      })
      return { status, response }
    }
    /**
     * Ends the attempt, and passes the received response to `complete`. Only the first call has an effect.
     */
    const finish = (complete: (received: Received | undefined) => void) => {
      if (isOver) return
      isOver = true
      clearTimeout(timer)
      readReceived().then(complete, reject)
    }
    const end = (error?: unknown) =>
      finish((received) => {
        if (received) resolve(received)
        else reject(error)
      })
    const timer = setTimeout(() => {
      const isConnected = controller !== undefined
      const error = Object.assign(new Error('the attempt timed out'), {
        code: 'ETIMEDOUT' as const,
        response: undefined,
        isConnected,
      })
      timeout = error
      finish((received) => reject(Object.assign(error, { response: received })))
      // Without a connection there is nothing to abort. The connector has the same time limit, so it ends by
      // itself.
      controller?.abort(error)
    }, timeoutMs)

    const handler: Dispatcher.DispatchHandler = {
      onRequestStart: (started) => {
        controller = started
        if (timeout) started.abort(timeout)
      },
      onResponseStart: (_, statusCode, received) => {
        if (statusCode < 200) return
        status = statusCode
        responseHeaders = received
      },
      onResponseData: (receiving, chunk) => {
        if (length < KEPT_BYTES) kept.push(Buffer.from(chunk.subarray(0, KEPT_BYTES - length)))
        length += chunk.length
        if (length <= READ_BYTES) return
        end()
        receiving.abort(new Error('the response is too long'))
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
