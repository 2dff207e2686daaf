import { randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import { Agent, request as send } from 'undici'

/** One field of a multipart form: a text, or a file when it has a `fileName`. */
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
  /** Sent as application/x-www-form-urlencoded: pairs, or the text itself. */
  form?: Record<string, string> | string
  /** Sent as multipart/form-data, in this order. */
  multipart?: Part[]
  /** Of the multipart body; a new one each time when absent. */
  boundary?: string
  /** Sent as it is; a stream goes chunked. Give its content type among the headers. */
  body?: string | Buffer | Readable
  /** These win over what the other options set. */
  headers?: Record<string, string | string[]>
}

export type Answer<T = unknown> = {
  status: number
  /** By lower-case name. */
  headers: Record<string, string | string[] | undefined>
  bytes: Buffer
  text: string
  /** The body parsed; undefined when it is no JSON. */
  json: T
}

export type Client = {
  request<T = unknown>(method: string, path: string, options?: RequestOptions): Promise<Answer<T>>
  close(): Promise<void>
}

/**
 * Talks to one address as any HTTP client would. `path` may be a whole URL too. `token` is the default of every
 * request; `{ token: '' }` sends none.
 */
export function createClient(base: string, { token }: { token?: string } = {}): Client {
  const agent = new Agent({ connections: 256, headersTimeout: 60_000, bodyTimeout: 60_000 })
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

/** The bytes of a multipart body (RFC 7578). */
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
