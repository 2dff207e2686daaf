import type { RequestPlan } from './jobs'

/** A request as it goes over the wire. */
export function requestBytes({ method, path, headers = {}, body }: RequestPlan, port: number): Buffer {
  const content = body === undefined ? undefined : Buffer.from(body)
  const lines = Object.entries({
    host: `127.0.0.1:${port}`,
    ...headers,
    ...(content && { 'content-length': String(content.length) }),
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`)
  return content ? Buffer.concat([head, content]) : head
}
