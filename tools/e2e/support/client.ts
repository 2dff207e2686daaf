import { randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import { Agent, request as send } from 'undici'

/** A field of a multipart form, or a file if `fileName` is set. */
export type Part = {
  name: string
  value: string | Buffer
  fileName?: string
  type?: string
}

export type RequestOptions = {
  token?: string
  /** Sent as application/json. */
  json?: unknown
  /** Sent as application/x-www-form-urlencoded. A text is sent unchanged. */
  form?: Record<string, string> | string
  /** Sent as multipart/form-data, in this order. */
  multipart?: Part[]
  /** The boundary of the multipart body. By default each request has a new one. */
  boundary?: string
  /** Sent unchanged; a stream is sent in chunks. `headers` must have the content type of the body. */
  body?: string | Buffer | Readable
  /** These headers override the headers that the other options imply. */
  headers?: Record<string, string | string[]>
}

export type Answer<T = unknown> = {
  status: number
  /** The headers by their names in lower case. */
  headers: Record<string, string | string[] | undefined>
  bytes: Buffer
  text: string
  /** The parsed body, or undefined if it is not JSON. */
  json: T
}

export type Client = {
  request<T = unknown>(method: string, path: string, options?: RequestOptions): Promise<Answer<T>>
  close(): Promise<void>
}

/**
 * Creates an HTTP client for one base URL. `path` may also be an absolute URL. Each request sends `token`
 * unless its options name another token. `{ token: '' }` sends no token. The requests come from
 * `localAddress`, such as another address of the loopback interface.
 */
export function createClient(
  base: string,
  { token, localAddress }: { token?: string; localAddress?: string } = {},
): Client {
  const limits = { connections: 256, headersTimeout: 60_000, bodyTimeout: 60_000 }
  const agent = new Agent({ ...limits, ...(localAddress !== undefined && { localAddress }) })
  return {
    async request<T>(method: string, path: string, options: RequestOptions = {}) {
      const bearer = options.token ?? token
      const { body, type } = encode(options)
      const response = await send(/^https?:/.test(path) ? path : `${base}${path}`, {
        dispatcher: agent,
        method: method as 'GET',
        headers: {
          ...(bearer ? { authorization: `Bearer ${bearer}` } : {}),
          ...(type ? { 'content-type': type } : {}),
          ...lowerCased(options.headers ?? {}),
        },
        body: body ?? null,
      })
      const bytes = Buffer.from(await response.body.arrayBuffer())
      const text = bytes.toString('utf8')
      return { status: response.statusCode, headers: response.headers, bytes, text, json: parsed(text) as T }
    },
    close: () => agent.destroy(),
  }
}

/** Renders a multipart body (RFC 7578). */
export function multipartBody(parts: Part[], boundary: string): Buffer {
  const chunks = parts.flatMap(({ name, value, fileName, type }) => {
    const file = fileName === undefined ? '' : `; filename="${fileName.replaceAll('"', '%22')}"`
    const typed = type === undefined ? '' : `Content-Type: ${type}\r\n`
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n${typed}\r\n`
    return [Buffer.from(head), Buffer.from(value), Buffer.from('\r\n')]
  })
  return Buffer.concat([...chunks, Buffer.from(`--${boundary}--\r\n`)])
}

function encode(options: RequestOptions): { body?: string | Buffer | Readable; type?: string } {
  if (options.json !== undefined) return { body: JSON.stringify(options.json), type: 'application/json' }
  if (options.form !== undefined)
    return {
      body: typeof options.form === 'string' ? options.form : new URLSearchParams(options.form).toString(),
      type: 'application/x-www-form-urlencoded',
    }
  if (options.multipart) {
    const boundary = options.boundary ?? `----leadwire${randomUUID()}`
    return {
      body: multipartBody(options.multipart, boundary),
      type: `multipart/form-data; boundary=${boundary}`,
    }
  }
  return options.body === undefined ? {} : { body: options.body }
}

function lowerCased(headers: Record<string, string | string[]>): Record<string, string | string[]> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
